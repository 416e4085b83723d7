// Package report tells, after a run, what a person wants to know of it: which
// programs were executed, which files were read, written and deleted, where
// connections went, which sockets were listened on, and what was refused.
//
// A file that is opened to be read and written, and neither made nor emptied by that, stands apart:
// whether something was written to it is not known without a look at each write.
//
// It goes by what calls ask for and whether they succeed. Paths are those that
// the tracee gives, made absolute; symbolic links in them are not followed. What
// is done through descriptors that were opened elsewhere, through mapped memory
// and through io_uring is not in it.
package report

import (
	"encoding/json"
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
	json    bool
	pending map[int]event // by thread: what the call under way asks for

	programs, connections, servers, refused counter
	read, written, both, deleted            tree
}

var _ trace.Handler = (*Report)(nil)

// New returns a Report that is to be written to w, as a text or as one JSON object.
func New(w io.Writer, json bool) *Report {
	return &Report{w: w, json: json, pending: map[int]event{}}
}

// event is what a call asks for. It is read at the entry, because the kernel
// replaces the memory of a process that executes a program.
type event struct {
	verb  verb
	paths []string // absolute, as many as the call has
	text  string   // the program with its arguments, or the address
	argv  []string
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
			e.text, e.argv = commandLine(c, c.Args[a.arg])
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
		r.refused.add(subject(c, e)+": "+name, nil)
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
		r.programs.add(e.text, e.argv)
	case reads:
		r.read.add(e.paths[0])
	case writes:
		r.written.add(e.paths[0])
	case readsAndWrites:
		r.both.add(e.paths[0])
	case listens:
		r.servers.add(listener(c), nil)
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
	r.connections.add(address, nil)
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

// listener is what a call of listen has made: the protocol and the address.
func listener(c *decode.Call) string {
	fd := int(int32(c.Args[0]))
	text := ""
	if e, ok := c.Files.(decode.Endpoints); ok {
		text = e.Endpoint(fd)
	}
	protocol, address, ok := strings.Cut(strings.TrimSuffix(text, "]"), ":[")
	if !ok {
		return fmt.Sprintf("descriptor %d", fd)
	}
	if strings.HasPrefix(protocol, "UNIX") { // the number of the socket stands before its name
		_, address, _ = strings.Cut(address, ",")
		if address == "" {
			address = "without a name"
		}
	}
	return protocol + " " + address
}

// Finish writes the report.
func (r *Report) Finish() error {
	var err error
	if r.json {
		err = r.object()
	} else {
		var b strings.Builder
		r.programs.write(&b, "programs executed")
		r.read.write(&b, "files read")
		r.written.write(&b, "files written or changed")
		r.both.write(&b, "files opened to read and write")
		r.deleted.write(&b, "files deleted or renamed")
		r.connections.write(&b, "connections")
		r.servers.write(&b, "servers")
		r.refused.write(&b, "calls refused")
		_, err = io.WriteString(r.w, b.String())
	}
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// object writes the report as an object.
func (r *Report) object() error {
	all := struct {
		Programs    []*entry `json:"programs"`
		Read        []string `json:"read"`
		Written     []string `json:"written"`
		Both        []string `json:"opened_to_read_and_write"`
		Deleted     []string `json:"deleted"`
		Connections []*entry `json:"connections"`
		Servers     []*entry `json:"servers"`
		Refused     []*entry `json:"refused"`
		// More is how much was not remembered.
		More int `json:"more,omitempty"`
	}{
		Programs: entries(r.programs), Connections: entries(r.connections), Servers: entries(r.servers), Refused: entries(r.refused),
		Read: r.read.paths(), Written: r.written.paths(), Both: r.both.paths(), Deleted: r.deleted.paths(),
	}
	for _, c := range []counter{r.programs, r.connections, r.servers, r.refused} {
		all.More += c.more
	}
	for _, t := range []tree{r.read, r.written, r.both, r.deleted} {
		all.More += t.more
	}
	encoder := json.NewEncoder(r.w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}

// entries are those of c, and none is a list too.
func entries(c counter) []*entry { return append([]*entry{}, c.order...) }
