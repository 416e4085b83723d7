// Package report tells, after a run, what a person wants to know of it: which
// programs were executed, which files were read, written and deleted, where
// connections went, and what was refused.
//
// It goes by what calls ask for and whether they succeed. Paths are those that
// the tracee gives, made absolute; symbolic links in them are not followed. What
// is done through descriptors that were opened elsewhere, through mapped memory
// and through io_uring is not in it.
package report

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Report is a trace.Handler that gathers a report. The calls that it needs are
// those of package calls.
type Report struct {
	trace.Ignore
	w       io.Writer
	pending map[int]event // by thread: what the call under way asks for

	programs, connections, refused counter
	read, written, deleted         tree
}

var _ trace.Handler = (*Report)(nil)

// New returns a Report that is to be written to w.
func New(w io.Writer) *Report { return &Report{w: w, pending: map[int]event{}} }

// event is what a call asks for. It is read at the entry, because the kernel
// replaces the memory of a process that executes a program.
type event struct {
	verb  verb
	paths []string // absolute, as many as the call has
	text  string   // the program with its arguments, or the address
}

// Enter implements trace.Handler.
func (r *Report) Enter(c *decode.Call) error {
	a, ok := actions[c.Name]
	if !ok || c.Narrow() && wide[c.Name] {
		return nil
	}
	e := event{verb: a.verb}
	for _, p := range a.paths {
		dir := unix.AT_FDCWD
		if p.dir != workingDir {
			dir = int(int32(c.Args[p.dir]))
		}
		e.paths = append(e.paths, decode.Resolve(c, dir, c.Args[p.path]))
	}
	switch a.verb {
	case executes:
		if e.text = e.paths[0]; !c.Foreign() { // the list of arguments is another
			e.text = commandLine(c, c.Args[a.arg])
		}
	case opens:
		e.verb = openVerb(a.flags(c))
	case connects:
		address := a.address(c)
		if address == "" {
			return nil
		}
		e.text = printable(address)
	}
	r.pending[c.Pid] = e
	return nil
}

// Exit implements trace.Handler.
func (r *Report) Exit(c *decode.Call) error {
	e, ok := r.pending[c.Pid]
	delete(r.pending, c.Pid)
	name := decode.ErrorName(c)
	if name == "EPERM" || name == "EACCES" || c.Injected {
		r.refused.add(subject(c, e) + ": " + name)
	}
	if !ok {
		return nil
	}
	if e.verb == connects {
		r.connected(e.text, name)
		return nil
	}
	if c.Failed {
		return nil
	}
	switch e.verb {
	case executes:
		r.programs.add(e.text)
	case reads:
		r.read.add(e.paths[0])
	case writes:
		r.written.add(e.paths[0])
	case deletes:
		r.deleted.add(e.paths[0])
	case renames:
		r.deleted.add(e.paths[0])
		r.written.add(e.paths[1])
	}
	return nil
}

// connected counts a connection; one that is still being made counts as made.
func (r *Report) connected(address, failure string) {
	if failure != "" && failure != "EINPROGRESS" {
		address += " (" + failure + ")"
	}
	r.connections.add(address)
}

// subject says what a refused call was about.
func subject(c *decode.Call, e event) string {
	switch {
	case len(e.paths) > 0:
		quoted := make([]string, len(e.paths))
		for i, p := range e.paths {
			quoted[i] = printable(p)
		}
		return c.Name + " " + strings.Join(quoted, " ")
	case e.text != "":
		return c.Name + " " + e.text
	}
	args, _ := decode.AppendEnter(nil, c)
	return c.Name + "(" + string(args) + ")"
}

// Superseded implements trace.Handler.
func (r *Report) Superseded(pid, by int) error {
	r.pending[pid] = r.pending[by]
	delete(r.pending, by)
	return nil
}

// Ended implements trace.Handler.
func (r *Report) Ended(pid int, _ unix.WaitStatus, _ *decode.Call) error {
	delete(r.pending, pid)
	return nil
}

// Finish writes the report.
func (r *Report) Finish() error {
	var b strings.Builder
	r.programs.write(&b, "programs executed")
	r.read.write(&b, "files read")
	r.written.write(&b, "files written or changed")
	r.deleted.write(&b, "files deleted or renamed")
	r.connections.write(&b, "connections")
	r.refused.write(&b, "calls refused")
	if _, err := io.WriteString(r.w, b.String()); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}
