package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// startRuns is how many starts are one repetition: a single one is too short for a clock.
const startRuns = 20

// start is a session that does nothing, from start to end. In the place of the host stands a bare
// bubblewrap.
type start struct {
	title string
	args  []string // of art
}

func starts(base, scratch string) []start {
	ws, db := filepath.Join(base, workspaceName), filepath.Join(scratch, databaseName)
	return []start{
		{"start to end, host: bare bwrap", []string{"-q", "-i=false", "-m", ws, "-d", db, "--", "true"}},
		{"same, direct mode", []string{"-q", "-i=false", "-m", ws, "--", "true"}},
	}
}

// measureStart measures both kinds of session once, by turns with bubblewrap.
func (r *runner) measureStart(ctx context.Context, bin string, chosen func(string) bool) error {
	base, err := r.fixtures.get("empty")
	if err != nil {
		return err
	}
	scratch := filepath.Join(r.scratch, "start")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	bare := []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"}
	for _, s := range starts(base, scratch) {
		if !chosen(s.title) {
			continue
		}
		session := append([]string{filepath.Join(bin, "art")}, s.args...)
		// The first one creates the database.
		if err := command(session[0], session[1:]...); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		var theirs, ours time.Duration
		for range startRuns {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := timeCommand(bare, &theirs); err != nil {
				return err
			}
			if err := timeCommand(session, &ours); err != nil {
				return err
			}
		}
		r.add(s.title, hostName, theirs/startRuns)
		r.add(s.title, artName, ours/startRuns)
	}
	return removeScratch(scratch)
}

func (r *runner) add(title, system string, wall time.Duration) {
	r.report.Samples = append(r.report.Samples, sample{Workload: title, System: system, Wall: wall, ToDisk: wall})
}

func timeCommand(args []string, sum *time.Duration) error {
	cmd := exec.Command(args[0], args[1:]...)
	begin := time.Now()
	err := cmd.Run()
	*sum += time.Since(begin)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
