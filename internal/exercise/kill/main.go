// Kill runs real work in real sessions (files that are written, synced and renamed, git, SQLite) and
// kills art, art-fuse or bwrap at a random moment: while the session begins, works or ends. After
// each, on the database as it was left:
//
//   - no process and no mount of the session is left;
//   - art-fuse check finds nothing;
//   - the next session finds all that the work was told to be durable, and the rest whole;
//   - what was deleted while it was open has left the database.
//
// Forks are made of the database and of its forks, and the making is killed too: a fork is there whole, or not
// at all, and is there if it was answered. Sessions go on in one or another, and what was
// durable in the others stays so.
//
// Usage:
//
//	go run ./internal/exercise/kill [-bin DIR] [-dir DIR] [-seed N] [-kills 300]
//
// The programs are those in DIR, or in PATH. When a round has failed, its database is left in -dir, and
// beside it, as left.db, what the killed session had left.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	bin := flag.String("bin", "", "`directory` of the programs")
	dir := flag.String("dir", "", "work in this `directory`, which is made if need be, instead of a temporary one")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
	kills := flag.Int("kills", 300, "how many processes to kill")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*bin, *dir, *seed, *kills); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		os.Exit(1)
	}
}

func run(bin, dir string, seed uint64, kills int) (err error) {
	logf := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "kill: "+format+"\n", args...) }
	if bin == "" {
		art, err := exec.LookPath("art")
		if err != nil {
			return err
		}
		bin = filepath.Dir(art)
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "art-kill-"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				os.RemoveAll(dir)
			}
		}()
	}
	logf("seed %d, in %s", seed, dir)
	x, err := newExercise(bin, dir, seed)
	if err != nil {
		return err
	}
	begin := time.Now()
	for x.killed() < kills {
		if err := x.round(); err != nil {
			return fmt.Errorf("round %d: %w", x.rounds, err)
		}
		if x.rounds%20 == 0 {
			logf("%s", x)
		}
	}
	logf("%s in %v, and nothing is lost", x, time.Since(begin).Round(time.Second))
	return nil
}
