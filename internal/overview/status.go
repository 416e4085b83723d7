package overview

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/reconcile"
	running "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs"
)

// status is what is pending in a database, as JSON has it. Where nothing else is said, files are counted.
type status struct {
	Workspace string `json:"workspace"`
	Database  string `json:"database"`
	Size      int64  `json:"size"`
	Running   bool   `json:"running"`
	ID        string `json:"id,omitempty"` // of the session
	PID       int    `json:"pid,omitempty"`
	// Copied is where the session copies the database to; nil: nowhere.
	Copied *running.Copied `json:"copied,omitempty"`
	control.Pending
	// Beside are the mounts of mode overlay in which something was changed.
	Beside []besides `json:"beside,omitempty"`

	shown shown
}

// besides is what was changed in such a mount.
type besides struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// difference is what Status needs of a line that reconcile.Diff writes.
type difference struct {
	Status, Path, From, Kind, Why string
	Bytes                         []byte `json:"path_bytes"`
	Conflict, Held                bool

	// Of a reference, its name, and the commits that the host does not have; of what else comes with a repository, what it is.
	Ref     string
	Commits []struct{}
	Other   string
}

// Status shows what is pending in the database of the workspace dir, and who has the database.
func Status(ctx context.Context, dir, database string, o Options) error {
	s := &status{Workspace: dir, Database: database, Size: sizeOf(database), shown: shown{all: o.All}}
	if err := s.compare(ctx, &o); err != nil {
		return err
	}
	tree, known, err := contents(database)
	if err != nil {
		return err
	}
	for _, m := range beside(tree, known) {
		s.Beside = append(s.Beside, besides{m.Path, m.files, m.size})
	}
	pid, open, err := sqlvfs.Writer(database)
	if err != nil {
		return fmt.Errorf("open database %s: %w", database, err)
	}
	s.Running, s.PID = open, pid
	var latest *session
	if open {
		if is := running.OfDatabase(running.Directories(os.Getenv), database); is != nil {
			s.ID, s.Copied = is.ID, running.CopiedOf(is)
		}
		if list, err := sessions(database, nil); err == nil && len(list) > 0 && list[0].Running {
			latest, s.PID = &list[0], list[0].PID
		}
	}
	if o.JSON {
		return o.object(s)
	}
	return s.show(latest, &o)
}

// Pending writes what is pending in a database, by what is committed, as an object with the keys of a status that are of that.
func Pending(ctx context.Context, dir, database string, o Options) error {
	s := &status{Workspace: dir, Database: database}
	o.Stderr = io.Discard
	if err := s.compare(ctx, &o); err != nil {
		return err
	}
	return o.object(&s.Pending)
}

// compare fills in the differences, as art diff finds them.
func (s *status) compare(ctx context.Context, o *Options) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := reconcile.Diff(ctx, reconcile.Options{Prog: "art", Dir: s.Workspace, DB: s.Database, Form: reconcile.JSON, Stdout: w, Stderr: o.Stderr, Session: o.Session})
		w.CloseWithError(io.EOF)
		done <- err
	}()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var d difference
		if err := json.Unmarshal(line, &d); err == nil {
			s.add(d)
		}
	}
	return <-done
}

func (s *status) add(d difference) {
	s.shown.add(d)
	switch {
	case d.Conflict:
		s.Conflicts++
	case d.Held:
		s.Held++
	case d.Kind == "directory":
		s.Directories++
	case d.Status == "D":
		s.Deleted++
	default:
		s.Changed++
	}
}

// pending says in a few words what is pending, or nothing.
func (s *status) pending() string {
	var parts []string
	directories := "directories"
	if s.Directories == 1 {
		directories = "directory"
	}
	for _, of := range []struct {
		n    int
		what string
	}{{s.Changed, "changed"}, {s.Deleted, "deleted"}, {s.Held, "held back"}, {s.Conflicts, "in conflict"}, {s.Directories, directories}} {
		if of.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of.n, of.what))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *status) show(latest *session, o *Options) error {
	err := o.line("workspace  %s\ndatabase   %s, %s", o.name(s.Workspace), o.name(s.Database), cli.Bytes(s.Size))
	switch {
	case latest != nil:
		which := command(latest.Command)
		if s.ID != "" {
			which = "session " + s.ID + ": " + which
		}
		err = errors.Join(err, o.line("running    %s, process %d, for %s", which, latest.PID, latest.took()))
	case s.Running:
		err = errors.Join(err, o.line("running    process %d has the database", s.PID))
	}
	if s.Copied != nil {
		err = errors.Join(err, o.line("copied to  %v", s.Copied))
	}
	for _, m := range s.Beside {
		err = errors.Join(err, o.line("beside     %s: %v", o.name(m.Path), amount{m.Files, m.Bytes}))
	}
	pending := s.pending()
	if pending == "" {
		return errors.Join(err, o.line("pending    nothing"))
	}
	err = errors.Join(err, o.line("pending    %s", pending))
	for _, text := range s.shown.text(o) {
		err = errors.Join(err, o.line("           %s", text))
	}
	if s.shown.more > 0 {
		err = errors.Join(err, o.line("           and %d more: art status --all", s.shown.more))
	}
	return err
}
