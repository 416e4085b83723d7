// Fsx works on a few files in a directory with every operation that changes or reads content, and
// compares each result with a copy in memory.
//
//	go run ./internal/exercise/fsx -dir DIR [-seed N] [-duration 10m] [-files N]
//
// The files are left in the directory, with what they should hold beside them. The next run there,
// which may be after a remount, proves that first; with -duration 0 it does no more.
//
// The same seed does the same operations in the same order, as far as the time goes.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

func main() {
	dir := flag.String("dir", "", "work in this `directory`, which is made if need be")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
	duration := flag.Duration("duration", 10*time.Second, "how long to go on")
	files := flag.Int("files", 4, "how many files to work on")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 || *files < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := exercised(*dir, *seed, *duration, *files); err != nil {
		fmt.Fprintln(os.Stderr, "fsx:", err)
		os.Exit(1)
	}
}

// exercised runs the exerciser. The error tells the whole story: the seed and the last operations.
func exercised(dir string, seed uint64, duration time.Duration, files int) (err error) {
	logf := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "fsx: "+format+"\n", args...) }
	logf("seed %d", seed)
	r, err := newRun(dir, seed, logf)
	if err != nil {
		return err
	}
	// A page that cannot be read in is a signal, which becomes a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			err = fmt.Errorf("seed %d: %w\nlast operations:\n%v", seed, err, &r.journal)
		}
	}()
	begin := time.Now()
	if err := r.exercise(files, duration); err != nil {
		return err
	}
	logf("%d operations in %v, and all is as it should be", r.journal.Len(), time.Since(begin).Round(time.Millisecond))
	return nil
}
