package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// What art does when the stage, the stub or the guest say something.

// handle acts on a message of the stage or the stub.
func (s *session) handle(m control.Received) {
	switch m.Kind {
	case control.TakenOver:
		s.dropHandover()
	case control.MapIDs:
		s.mapIDs(m.FD)
	case control.Home:
		s.lentHome = os.NewFile(uintptr(m.FD), "home")
	case control.Sockets:
		s.network.useSockets(m.FD)
	case control.Tunnel:
		s.require(s.startNet(m.FD))
	case control.AgentSocket:
		s.require(s.startAgent(m.FD))
	case control.Leaving:
		s.self = os.NewFile(uintptr(m.FD), "art")
		s.require(s.fillHome())
		if m.Ready {
			s.require(s.briefReplica())
		} else {
			s.attend()
		}
	case control.Refused:
		s.retry(m.Err())
	case control.Failed:
		s.fail(m.Err())
	case control.Started:
		if !s.awaitsReplica(m) {
			s.require(s.started(m))
		}
	case control.Running:
		s.require(s.running(m))
	case control.Ruleset:
		s.ruleset = os.NewFile(uintptr(m.FD), "ruleset")
	case control.Stopped:
		s.guestStopped()
	case control.Listening:
		s.require(s.listening(m))
	}
}

// heard are the messages of the stage and the stub. While the guest waits for what it has said, it says no more.
func (s *session) heard() <-chan control.Received {
	if s.replica.waiting != nil {
		return nil
	}
	return s.messages
}

// require ends a session that cannot be.
func (s *session) require(err error) {
	if err != nil {
		s.fail(err)
		s.stage.Kill()
	}
}

// attend hears what art-fuse has to say, which the stage would have told otherwise.
func (s *session) attend() {
	if s.control == nil {
		return // there is none
	}
	// The socket may be closed while this is heard.
	own, err := duplicate(s.control)
	if err != nil {
		s.require(fmt.Errorf("hear what art-fuse says: %w", err))
		return
	}
	go func(sock *os.File, heard chan<- error) {
		err := control.Await(sock, control.Ready)
		sock.Close()
		heard <- err
	}(own, s.served)
	s.attending = true
}

// retry starts the stage once more, this time with a mount made by fusermount3.
func (s *session) retry(why error) {
	if s.stageDone != nil {
		<-s.stageDone
		s.stageDone = nil
	}
	s.exitReport.drop()
	s.exitReport = nil // the next one makes another
	if s.messages != nil {
		for range s.messages { // up to the end, behind which nobody reads from the link
		}
	}
	s.link.Close()
	if err := s.fallBack(why); err != nil {
		s.fail(err)
	}
}

// started is called when the guest waits for its streams to be set up. On a terminal it does not wait, and is not the
// payload yet.
func (s *session) started(m control.Received) error {
	if err := s.adoptGuest(m.PID); err != nil {
		return err
	}
	if m.FD >= 0 {
		s.shell = m.PID
	}
	if err := s.watchFirst(m.PID); err != nil {
		return err
	}
	if err := s.makeJoinable(m.PID); err != nil {
		return err
	}
	if err := s.startPorts(m.PID); err != nil {
		return err
	}
	if s.fuseError != nil {
		s.fuseEnded(s.fuseError)
	}
	if m.FD >= 0 {
		// Not to block, so that it can be closed while it is being read.
		if err := unix.SetNonblock(m.FD, true); err != nil {
			return fmt.Errorf("set up the terminal: %w", err)
		}
		s.master = os.NewFile(uintptr(m.FD), "terminal")
		if err := s.streams.SetUp(s.master); err != nil {
			return err
		}
	}
	s.streams.CloseGuest()
	hungUp := s.hungUp
	s.streams.Start(s.master, func() { close(hungUp) })
	if s.master != nil {
		return nil
	}
	return s.letGo(m.PID)
}

// running is called when the payload on a terminal, whose parent the stub is, waits to begin.
func (s *session) running(m control.Received) error {
	if s.job {
		return nil
	}
	s.job = true
	if err := s.adoptGuest(m.PID); err != nil {
		return err
	}
	return s.letGo(m.PID)
}

// adoptGuest makes the process pid the one that signals are for.
func (s *session) adoptGuest(pid int) error {
	stage, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", s.stage.Pid)) // which is a child of art's
	if err != nil {
		return fmt.Errorf("look at the guest: %w", cli.Reason(err))
	}
	defer stage.Close()
	guest, err := newGuest(pid, stage)
	if err == nil {
		if s.guest != nil {
			s.guest.close()
		}
		s.guest = guest
	}
	return err
}

// letGo limits the payload, and lets it begin.
func (s *session) letGo(pid int) error {
	if err := s.limitGuest(pid); err != nil {
		return err
	}
	if err := s.exitReport.hold(); err != nil {
		return err
	}
	if s.begun != nil {
		s.begun()
	}
	s.tellBegun()
	err := control.Send(s.link, -1, control.Message{Kind: control.Go})
	if s.background == nil {
		s.register(shortest)
		return err
	}
	if err == nil {
		err = s.leaveStarter()
	}
	return err
}
