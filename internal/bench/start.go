package main

import (
	"context"
	"errors"
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

// measureStart measures both kinds of session once on each wire, by turns with bubblewrap.
func (r *runner) measureStart(ctx context.Context, bin string, chosen func(string) bool) (err error) {
	var arts []*system
	for _, s := range r.systems {
		if s.open != nil && s.wire != "" {
			arts = append(arts, s)
		}
	}
	if len(arts) == 0 {
		return nil
	}
	base, err := r.fixtures.get("empty")
	if err != nil {
		return err
	}
	scratch := filepath.Join(r.scratch, "start")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeScratch(scratch)) }()
	art := filepath.Join(bin, "art")
	if err := trust(art, filepath.Join(base, workspaceName), artEnvironment(scratch, arts[0].wire)); err != nil {
		return err
	}
	bare := []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"}
	for _, s := range starts(base, scratch) {
		if !chosen(s.title) {
			continue
		}
		session := append([]string{art}, s.args...)
		var theirs, first time.Duration
		// The first one creates the database.
		if err := timeCommand(session, artEnvironment(scratch, arts[0].wire), &first); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		ours := make([]time.Duration, len(arts))
		for range startRuns {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := timeCommand(bare, os.Environ(), &theirs); err != nil {
				return err
			}
			for i, art := range arts {
				if err := timeCommand(session, artEnvironment(scratch, art.wire), &ours[i]); err != nil {
					return err
				}
			}
		}
		r.add(s.title, hostName, theirs/startRuns)
		for i, art := range arts {
			r.add(s.title, art.name, ours[i]/startRuns)
		}
	}
	return nil
}

func (r *runner) add(title, system string, wall time.Duration) {
	r.report.Samples = append(r.report.Samples, sample{Part: startPart, Workload: title, System: system, Wall: wall, ToDisk: wall})
}

func timeCommand(args []string, env []string, sum *time.Duration) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	begin := time.Now()
	err := cmd.Run()
	*sum += time.Since(begin)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
