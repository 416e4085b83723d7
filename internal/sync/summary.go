package sync

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/riverlytech/art/sqlvfs"
)

// Summary counts what the guest has changed against the host. Directories do not count.
type Summary struct{ Changed, Deleted, Held int }

// Summarize counts what the guest has changed in a workspace, by what is committed in an open
// database. What cannot be compared does not count.
func Summarize(ctx context.Context, workspace string, store *sqlvfs.Store) (Summary, error) {
	opt := Options{Dir: workspace, DB: store.Path(), Quiet: true, Stdout: io.Discard, Stderr: io.Discard, ctx: ctx}
	s, err := openSides(&opt, store, true)
	if err != nil {
		return Summary{}, err
	}
	d := &comparer{planner: *s.planner, helds: map[*action]bool{}}
	d.settle = d
	if d.top != nil {
		err = d.plan()
	}
	d.find()
	var sum Summary
	for _, c := range d.changes {
		switch {
		case c.isDir():
		case d.helds[c.now] || d.helds[c.was]:
			sum.Held++
		case c.letter == 'D':
			sum.Deleted++
		default:
			sum.Changed++
		}
	}
	s.host.close()
	return sum, err
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
	if s.Held > 0 {
		parts = append(parts, fmt.Sprintf("%d held back", s.Held))
	}
	return strings.Join(parts, ", ")
}
