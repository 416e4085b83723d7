package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := new(expected)
	return e, json.Unmarshal(text, e)
}

func (e *expected) save(dir string) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, stateName), text, 0o644)
}
