// Soak has sessions work for a long time, one after the other on one database, in a tree that stays
// as large as it is. It fails when something grows all the same: the memory or the descriptors of
// art-fuse, the write-ahead log, or the database; or when art-fuse check finds something between
// two sessions.
//
// Usage:
//
//	go run ./internal/exercise/soak [-bin DIR] [-dir DIR] [-duration 1h] [-sessions 4]
//
// The programs are those in DIR, or in PATH.
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
	duration := flag.Duration("duration", time.Hour, "how long to go on")
	sessions := flag.Int("sessions", 4, "how many to spend it in")
	flag.Parse()
	if flag.NArg() > 0 || *sessions < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*bin, *dir, *duration, *sessions); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(bin, dir string, duration time.Duration, sessions int) error {
	logf := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "soak: "+format+"\n", args...) }
	if bin == "" {
		art, err := exec.LookPath("art")
		if err != nil {
			return err
		}
		bin = filepath.Dir(art)
	}
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "art-soak-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	x, err := newSoak(bin, dir)
	if err != nil {
		return err
	}
	var all []sample
	for i := range sessions {
		list, rounds, err := x.session(duration / time.Duration(sessions))
		if err != nil {
			return fmt.Errorf("session %d: %w", i+1, err)
		}
		logf("session %d, %d rounds of work: %s", i+1, rounds, summary(list))
		if err := growth(list); err != nil {
			return fmt.Errorf("session %d: %w", i+1, err)
		}
		all = append(all, list...)
	}
	logf("all sessions: %s", summary(all))
	return growth(all)
}
