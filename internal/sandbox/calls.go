package sandbox

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/commands"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/seccomp"
)

// calls answers for the filter that asks (seccomp.Notify): it refuses what an option would permit, and lets go on what commands are
// learnt by.
type calls struct {
	refusals *refusals
	asked    bool                             // the first program's filter asks
	learner  atomic.Pointer[commands.Learner] // nil: nobody learns
}

// listen answers until nobody is left who could ask.
func (c *calls) listen(fd int) {
	listener := seccomp.NewListener(fd)
	serve := func(n *seccomp.Notification) {
		// What fails here ends with the guest.
		if !commands.Learns(n) {
			c.refusals.refused(n)
			_ = listener.Refuse(n, unix.EPERM)
			return
		}
		if learner := c.learner.Load(); learner != nil {
			learner.Take(n, func() bool { return listener.Waits(n) })
		}
		_ = listener.Continue(n)
	}
	go func() {
		listener.Serve(serve)
		if learner := c.learner.Load(); learner != nil {
			learner.End()
		}
	}()
}

// listening is called when the filter of the first program asks.
func (s *session) listening(m control.Received) error {
	if s.calls.asked {
		unix.Close(m.FD)
		return errors.New("listen for calls: somebody does")
	}
	s.calls.asked = true
	if s.learns {
		s.calls.learner.Store(s.learn(m.PID))
	}
	s.calls.listen(m.FD)
	return nil
}

// learn begins to learn of commands. pid is the first process in the guest.
func (s *session) learn(pid int) *commands.Learner {
	sock := s.commandSocket
	s.commandSocket = nil
	fuse := s.stage.Pid
	if s.plan.FUSE != stage.MountFUSE {
		fuse = os.Getpid() // where fusermount3 was started
	}
	learner, err := commands.Begin(sock, s.commandRing, s.tellCommands(), pid, fuse)
	if err != nil { // what they change stays nobody's
		cli.Fail("art", err)
		return nil
	}
	return learner
}

// tellUnlearnt says that commands were not learnt.
func (s *session) tellUnlearnt() {
	learner := s.calls.learner.Load()
	if learner == nil {
		return
	}
	if lost := learner.Lost(); lost > 0 {
		fmt.Fprintf(os.Stderr, "art: art-fuse has not heard of %d beginnings and ends of commands: it was too slow\n", lost)
	}
	if n, why := learner.Unlearnt(); n > 0 {
		fmt.Fprintf(os.Stderr, "art: %d commands were not learnt, and what they changed is nobody's: %v\n", n, why)
	}
}
