package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/exercise"
)

// jobKey is the variable that makes this program one of the processes, and tells it what to do.
const jobKey = "ART_STRESS_JOB"

type job struct {
	Dir         string
	Seed        uint64
	Run, Worker int
	Until       time.Time
}

// worker is one of the processes.
type worker struct {
	job
	report
	rng     *rand.Rand
	journal exercise.Journal
	without map[string]bool // operations that the file system does not have
	made    int             // names that no one else uses
}

// operation is something that a process does. Besides the errors that every path may end in when
// others change the tree, it may fail with those in may.
type operation struct {
	name   string
	weight int
	may    []syscall.Errno
	do     func(*worker) error
}

var operations = slices.Concat(treeOperations, properties)

// lost are the errors of a path whose directories others remove, rename and replace.
var lost = []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP}

// work does the job of a process, and returns its exit code.
func work(text string) int {
	w := worker{report: report{tally: newTally()}, without: map[string]bool{}}
	err := json.Unmarshal([]byte(text), &w.job)
	if err == nil {
		w.rng = rand.New(rand.NewPCG(w.Seed, uint64(w.Worker)))
		for err == nil && time.Now().Before(w.Until) {
			err = w.step()
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nits last operations:\n%v", err, &w.journal)
		return 1
	}
	w.Operations = w.journal.Len()
	if err := json.NewEncoder(os.Stdout).Encode(&w.report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (w *worker) step() error {
	op := exercise.Pick(w.rng, operations, func(op operation) int { return op.weight })
	if w.without[op.name] {
		return nil
	}
	err := op.do(w)
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EOPNOTSUPP):
		w.without[op.name] = true
		return nil
	case errors.As(err, &errno) && slices.Contains(slices.Concat(lost, op.may), errno):
		w.journal.Note("    which ended in: %v", err)
		return nil
	}
	return fmt.Errorf("%s: %w", op.name, err)
}

func (w *worker) at(path ...string) string {
	return filepath.Join(append([]string{w.Dir}, path...)...)
}

// own is a name that no other process, of this run or another, uses.
func (w *worker) own() string {
	w.made++
	return fmt.Sprintf("own-%s-%d", w.id(), w.made)
}

func (w *worker) id() string { return fmt.Sprintf("%d.%d", w.Run, w.Worker) }
