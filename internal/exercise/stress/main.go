// Stress has many processes change one tree with operations of every kind, and proves what holds
// whatever the order in which they come:
//
//   - every record appended to a log is there once and whole, each writer's in its order;
//   - a counter that is read and written under a lock, flock(2) or fcntl(2), counts everyone;
//   - what O_EXCL or mkdir(2) gave to one process is given to no other;
//   - a file that is only ever replaced by rename is always there, and always whole;
//   - a directory that is changed all the time lists the entries that stay, each once;
//   - a file without a name keeps its content;
//   - in the end, directories list what stat finds, link counts are the numbers of names, and
//     content is what was written where it was written.
//
// Usage:
//
//	go run ./internal/exercise/stress -dir DIR [-seed N] [-duration 10m] [-processes N]
//
// The tree is left in the directory, with what should be in it. The next run there, which may be
// after a remount, proves that first; with -duration 0 it does no more.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	if job := os.Getenv(jobKey); job != "" {
		os.Exit(work(job))
	}
	dir := flag.String("dir", "", "work in this `directory`, which is made if need be")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random numbers")
	duration := flag.Duration("duration", 10*time.Second, "how long to go on")
	processes := flag.Int("processes", 8, "how many to start")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 || *processes < 1 {
		flag.Usage()
		os.Exit(2)
	}
	fmt.Fprintf(os.Stderr, "stress: seed %d\n", *seed)
	done, err := run(*dir, *seed, *duration, *processes)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stress:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "stress: %d operations, and all is as it should be\n", done)
}

// run proves what the last run left, has the processes work, proves what they left, and writes it
// down for the next run. It returns how many operations were done.
func run(dir string, seed uint64, duration time.Duration, processes int) (int, error) {
	want, err := load(dir)
	if err == nil && want == nil {
		want, err = prepare(dir)
	} else if err == nil {
		if err = verify(dir, want); err != nil {
			err = fmt.Errorf("what the last run left: %w", err)
		}
	}
	if err != nil || duration == 0 {
		return 0, err
	}
	want.Runs++
	done, err := employ(want, job{Dir: dir, Seed: seed, Run: want.Runs, Until: time.Now().Add(duration)}, processes)
	if err != nil {
		return 0, err
	}
	want.Tree = nil // whatever it has become
	if err := verify(dir, want); err != nil {
		return 0, err
	}
	return done, want.save(dir)
}

// employ starts the processes, waits for them and adds up what they report.
func employ(want *expected, j job, processes int) (done int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	type result struct {
		report
		err error
	}
	results := make(chan result)
	for n := range processes {
		j.Worker = n
		text, err := json.Marshal(j)
		if err != nil {
			return 0, err
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), jobKey+"="+string(text))
		var out, diagnostics strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &diagnostics
		go func() {
			r := result{err: cmd.Run()}
			if r.err == nil {
				r.err = json.Unmarshal([]byte(out.String()), &r.report)
			}
			if r.err != nil {
				r.err = fmt.Errorf("process %d: %w\n%s", n, r.err, &diagnostics)
			}
			results <- r
		}()
	}
	for range processes {
		r := <-results
		err = errors.Join(err, r.err)
		done += r.Operations
		want.add(&r.report)
	}
	return done, err
}
