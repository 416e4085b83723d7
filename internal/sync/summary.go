package sync

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Summary counts what the guest has changed against the host. Directories do not count.
type Summary struct{ Changed, Deleted, Held, Commits int }

// Summarize counts what the guest has changed in the workspace opt.Dir, by what is committed in the
// database opt.DB. What cannot be compared does not count.
func Summarize(ctx context.Context, opt Options) (Summary, error) {
	opt.Quiet, opt.Stdout, opt.Stderr, opt.ctx = true, io.Discard, io.Discard, ctx
	s, err := openForReading(&opt, true)
	if err != nil {
		return Summary{}, err
	}
	d := &comparer{planner: *s.planner}
	d.settle = d
	defer d.closeRepos()
	if d.top != nil {
		err = d.compare()
	}
	d.find()
	var sum Summary
	for _, c := range d.changes {
		switch {
		case c.isDir():
		case c.held() != "":
			sum.Held++
		case c.letter == 'D':
			sum.Deleted++
		default:
			sum.Changed++
		}
	}
	sum.Commits = d.commits()
	return sum, s.close(err)
}

// String is the summary in words, or nothing.
func (s Summary) String() string {
	var parts []string
	if s.Changed > 0 {
		parts = append(parts, count(s.Changed, "file")+" changed")
	}
	if s.Deleted > 0 {
		parts = append(parts, fmt.Sprintf("%d deleted", s.Deleted))
	}
	if s.Commits > 0 {
		parts = append(parts, count(s.Commits, "commit"))
	}
	if s.Held > 0 {
		parts = append(parts, fmt.Sprintf("%d held back", s.Held))
	}
	return strings.Join(parts, ", ")
}
