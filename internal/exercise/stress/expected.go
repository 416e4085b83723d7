package main

import (
	"path/filepath"

	"github.com/riverlytech/art/internal/exercise"
)

const stateName = "stress.state"

// tally is what processes have done that can be counted afterwards.
type tally struct {
	Records  map[string]map[string]int // log: writer: records appended
	Counters map[string]int            // counter: how often it was counted up
}

func newTally() tally { return tally{map[string]map[string]int{}, map[string]int{}} }

// report is what a process says in the end.
type report struct {
	tally
	Operations int
}

// expected is what should be in a directory between runs.
type expected struct {
	tally
	Runs int
	Tree map[string]string // what verify saw of each path; nil if that is not known
}

func (e *expected) add(r *report) {
	for log, writers := range r.Records {
		if e.Records[log] == nil {
			e.Records[log] = map[string]int{}
		}
		for w, n := range writers {
			e.Records[log][w] += n
		}
	}
	for c, n := range r.Counters {
		e.Counters[c] += n
	}
}

// load returns what the last run wrote down, or nil if there was none.
func load(dir string) (*expected, error) {
	e := new(expected)
	if found, err := exercise.Load(filepath.Join(dir, stateName), e); err != nil || !found {
		return nil, err
	}
	return e, nil
}

func (e *expected) save(dir string) error { return exercise.Save(filepath.Join(dir, stateName), e) }
