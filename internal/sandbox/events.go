package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/events"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/internal/seccomp"
)

// What happens in a session, told to another program (--events).

// eventsFD is where the process of a session has a descriptor of the user's for events, whichever that was.
const eventsFD = starterFD + 1

// passEvents returns what a process of a session is to have as eventsFD, if its events go to a descriptor: nothing, or one file.
func (o *Options) passEvents() ([]*os.File, error) {
	if _, is := events.Descriptor(o.Events); !is {
		return nil, nil
	}
	f, err := events.Open(o.Events, nil)
	if err != nil {
		return nil, err
	}
	return []*os.File{f}, nil
}

// openEvents opens where events go, if they are asked for, before the session's view is made: as [openTrace] does.
func openEvents(o *request) (*os.File, error) {
	target := o.Events
	switch _, is := events.Descriptor(target); {
	case target == "":
		return nil, nil
	case is && (o.Background || o.Attended):
		target = fmt.Sprint(eventsFD)
	}
	return events.Open(target, func(path string) (*os.File, error) { return hostfs.OpenLog(path, o.Workspace, unix.O_APPEND) })
}

// tellEvents begins to tell of what happens.
func (s *session) tellEvents(to *os.File) {
	if to == nil {
		return
	}
	s.events = events.New(to, func(text string) {
		if !s.quiet {
			fmt.Fprintf(os.Stderr, "art: %s\n", text)
		}
	})
	notify := s.refusals.notify
	s.refusals.notify = func(call, program string) {
		if notify != nil {
			notify(call, program)
		}
		s.events.Tell(events.Denied, events.Denial{Call: call, Program: program, Allow: seccomp.Option(call)})
	}
}

// tellBegun tells that the command runs.
func (s *session) tellBegun() {
	what := events.Session{PID: s.pid(), Workspace: s.plan.Workspace, Command: s.payload.Command}
	if s.plan.Database != "" {
		what.Database = &s.plan.Database
	}
	s.events.Tell(events.SessionBegan, what)
}

// endEvents tells of the end of the session, and lets the reader go.
func (s *session) endEvents(code int, err error) {
	if s.commits != nil {
		select {
		case <-s.commits:
		case <-time.After(commitsWait):
		}
	}
	end := events.End{Code: code, Why: s.reason}
	if err != nil && end.Why == "" {
		end.Why = err.Error()
	}
	if s.replica.heard != nil && s.replicate != nil {
		end.Copied = &s.replica.whole
	}
	s.events.Tell(events.SessionEnded, end)
	if err := events.LostError(s.events.End()); err != nil && !s.quiet {
		cli.Fail("art", err)
	}
	s.events = nil
}

// commitsWait bounds how long the end of a session waits for what art-fuse has committed, which has ended by then.
const commitsWait = time.Second

// tellCommits tells of what art-fuse says over a socket, which it takes over. What it returns is closed when that is all.
func (s *session) tellCommits(sock *os.File) <-chan struct{} {
	stream, mounts := s.events, []string{view.Home}
	for i := range s.serve.Layers {
		mounts = append(mounts, s.plan.View.GuestOf(s.plan.Layer(i)))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer sock.Close()
		buf := make([]byte, 2*control.MaxCommit)
		for {
			n, err := unix.Read(int(sock.Fd()), buf)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case err != nil || n <= 0:
				return
			}
			m := &control.Commit{}
			if control.Unmarshal(buf[:n], m) == nil {
				tellCommit(stream, m, mounts)
			}
		}
	}()
	return done
}

var fileKinds = [...]struct {
	kind uint32
	name string
}{
	{control.FileMade, "made"}, {control.FileWritten, "written"}, {control.FileAttributes, "attributes"}, {control.FileNamed, "named"},
	{control.FileRemoved, "removed"},
}

// tellCommit tells of one message. mounts are where the guest sees those of art-fuse.
func tellCommit(stream *events.Stream, m *control.Commit, mounts []string) {
	stream.Lose(m.Lost)
	for i := range m.Files {
		f := &m.Files[i]
		if f.Layer < 0 || f.Layer >= len(mounts) || mounts[f.Layer] == "" {
			continue
		}
		e := events.FileChange{Path: path.Join(mounts[f.Layer], f.Path), Process: f.Command, Mapped: f.What&control.FileByMapping != 0}
		for _, k := range fileKinds {
			if f.What&k.kind != 0 {
				e.What = append(e.What, k.name)
			}
		}
		stream.TellAt(f.At, events.FileChanged, e)
	}
	for _, c := range m.Checkpoints {
		stream.TellAt(c.Made, events.Checkpointed, events.Checkpoint{Number: c.Number, Kind: c.Kind, Label: c.Label})
	}
}

// tellCommands returns what tells of the beginnings and ends of commands; nil: nobody is told.
func (s *session) tellCommands() func(*control.Command) {
	if s.events == nil {
		return nil
	}
	stream := s.events // which takes no more once the session has ended
	return func(c *control.Command) {
		switch c.Kind {
		case control.Executed:
			stream.TellAt(c.At, events.Executed, events.Exec{
				Process: c.Number, Parent: c.Starter, Replaces: c.Replaces, PID: c.PID, Cut: c.Cut, Dir: c.Dir, Command: split(c.Argv),
			})
		case control.Exited:
			if c.Number == 0 { // it has executed nothing
				return
			}
			e := events.Exit{Process: c.Number, PID: c.PID}
			if c.Code >= 0 {
				e.Code = &c.Code
			}
			stream.TellAt(c.At, events.Exited, e)
		}
	}
}

// split returns arguments that are each ended by NUL.
func split(argv []byte) []string {
	return strings.Split(strings.TrimSuffix(string(argv), "\x00"), "\x00")
}

// nameDenied tells of something that is refused on the network.
func (s *session) nameDenied(f *control.Flow) {
	s.events.TellAt(f.Began, events.Denied, events.Denial{
		Name: netrule.Shown(f.What), Port: f.Port, Network: f.Protocol, Why: f.Why, Allow: f.Allow, PID: cmp.Or(f.Guest, f.PID), Process: f.Process, Command: f.Command,
	})
}
