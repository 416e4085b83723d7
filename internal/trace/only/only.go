// Package only leaves out of a trace what is not about certain files.
package only

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// filter is a trace.Handler that passes on calls on some files alone, and everything that
// is no call.
type filter struct {
	trace.Handler
	files []string
	named []string     // the same as they were given
	left  map[int]bool // threads whose call under way is left out
}

// New returns a handler that calls next for calls that name one of the paths, get a descriptor
// of it, or wait for one. A path counts as it is written, from wherever, as the file that it names here, and as what its symbolic
// links lead to now.
func New(paths []string, next trace.Handler) trace.Handler {
	f := &filter{Handler: next, named: paths, left: map[int]bool{}}
	for _, path := range paths {
		if absolute, err := filepath.Abs(path); err == nil {
			f.files = append(f.files, absolute)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if real, err = filepath.Abs(real); err == nil {
				f.files = append(f.files, real)
			}
		}
	}
	return f
}

// Calls implements trace.Selector.
func (f *filter) Calls() []string {
	if s, ok := f.Handler.(trace.Selector); ok {
		return s.Calls()
	}
	return nil
}

// Enter implements trace.Handler.
func (f *filter) Enter(c *decode.Call) error {
	if !anyOf(f.files, decode.Paths(c)) && !anyOf(f.files, decode.Directories(c)) && !anyOf(f.named, decode.Written(c)) &&
		!anyOf(f.files, decode.Awaited(c)) {
		if !c.EntryOnly {
			f.left[c.Pid] = true
		}
		return nil
	}
	return f.Handler.Enter(c)
}

// anyOf tells whether one of some paths is among the files.
func anyOf(files, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(files, path) })
}

// Exit implements trace.Handler.
func (f *filter) Exit(c *decode.Call) error {
	if f.leave(c.Pid) {
		return nil
	}
	return f.Handler.Exit(c)
}

// leave tells whether the call of a thread is left out, which has ended.
func (f *filter) leave(pid int) bool {
	left := f.left[pid]
	delete(f.left, pid)
	return left
}

// Superseded implements trace.Handler.
func (f *filter) Superseded(pid, by int) error {
	f.leave(pid)
	if f.leave(by) {
		f.left[pid] = true
	}
	return f.Handler.Superseded(pid, by)
}

// Ended implements trace.Handler.
func (f *filter) Ended(pid int, status unix.WaitStatus, during *decode.Call) error {
	if f.leave(pid) {
		during = nil
	}
	return f.Handler.Ended(pid, status, during)
}

// Detached implements trace.Handler.
func (f *filter) Detached(pid int, during *decode.Call) error {
	if f.leave(pid) {
		during = nil
	}
	return f.Handler.Detached(pid, during)
}
