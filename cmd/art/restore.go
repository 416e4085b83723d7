package main

import (
	"fmt"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/internal/sandbox"
	"github.com/riverlytech/art/libexec"
)

// runRestore becomes art-replicate, which brings a copy of a database back.
func runRestore(c *flags.Command, args []string) (int, error) {
	var o sandbox.Options
	var at string
	o.Workspace = "."
	line, err := c.Parse(args, map[string]any{"db": &o.Database, "mount": &o.Workspace, "at": &at})
	if err != nil {
		return cli.ExitUsage, err
	}
	url := line.Words[0]
	if _, err := place.Parse(url); err != nil {
		return cli.ExitUsage, err
	}
	if at != "" {
		when, err := parseTime(at, time.Now())
		if err != nil {
			return cli.ExitUsage, err
		}
		at = when.Format(time.RFC3339Nano)
	}
	path, err := sandbox.NewDatabase(&o)
	if err == nil {
		err = becomeReplicate("restore", url, path, at)
	}
	return c.Failed(err), err
}

// becomeReplicate becomes art-replicate.
func becomeReplicate(args ...string) error {
	path, err := libexec.Find("art-replicate")
	if err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{path}, args...), libexec.Environ())
	return fmt.Errorf("run art-replicate: %w", err)
}

// layouts are those in which somebody may write a time. Without a zone it is of this machine's.
var layouts = []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly}

// parseTime reads a time: one of the clock, of today or of another day, or how long ago it was.
func parseTime(text string, now time.Time) (time.Time, error) {
	when, err := readTime(text, now)
	if err == nil && when.After(now) {
		return time.Time{}, cli.WithHint(fmt.Errorf("read --at: %s has not come yet", when.Local().Format(time.DateTime)), "leave --at out for the newest state; a time of the clock is today's")
	}
	return when, err
}

func readTime(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			year, month, day := now.Local().Date()
			return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, time.Local), nil
		}
	}
	return time.Time{}, cli.WithHint(fmt.Errorf("read --at: %q is not a time", text), "such as 17:30, 2006-01-02 17:30, 2006-01-02T17:30:00Z, or 20m for twenty minutes ago")
}
