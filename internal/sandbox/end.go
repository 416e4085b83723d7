package sandbox

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// How a session ends that does not end by itself.

const (
	// hangupGrace is how long the guest has to end after its terminal is gone.
	hangupGrace = 2 * time.Second
	// endGrace is how long the guest may outlive an art-fuse that failed.
	endGrace = 200 * time.Millisecond
	// unmountGrace is how long the sandbox may outlive an art-fuse that ended because the mount did, or
	// before there was a guest: the guest has ended then, or is not going to begin, and only a busy
	// machine keeps that from being waited for, or why it is so from being told.
	unmountGrace = 10 * time.Second
)

// abandon ends what was started of a session that cannot be.
func (s *session) abandon() {
	s.dismiss()
	s.streams.CloseGuest()
	s.closeControl()
	s.endLog(0, false, "")
	s.dropHandover()
	if s.stageDone != nil {
		s.stage.Kill()
		<-s.stageDone
	}
	s.exitReport.drop()
	s.endNet()
	if s.fuseDone != nil {
		<-s.fuseDone
	}
	s.endReplica(false)
}

func (s *session) closeControl() {
	if s.control != nil {
		_ = unix.Shutdown(int(s.control.Fd()), unix.SHUT_WR) // also where attend has another descriptor of it
		s.control.Close()
		s.control = nil
	}
}

// hangup ends the session whose terminal is gone, as a terminal's end does: the
// kernel sends SIGHUP, and what stays after that is ended by force.
func (s *session) hangup() {
	s.endedBy("its terminal was gone")
	if s.isLeft() {
		s.letEnd()
		return
	}
	s.streams.Hangup()
	if s.job {
		s.guest.hangUp()
	}
	s.kill = time.After(hangupGrace)
}

// fuseEnded is called when art-fuse ends while the sandbox, as far as is known,
// still runs. That may be the usual end: the mount goes before the process of the
// sandbox can be waited for. What still runs after a moment is left without files.
func (s *session) fuseEnded(err error) {
	s.fuseError = err
	grace := endGrace
	if err == nil || s.guest == nil {
		grace = unmountGrace
	}
	s.kill = time.After(grace)
}

// end ends by force a guest that should have ended by itself.
func (s *session) end() {
	if s.plan.Database != "" && s.fuseDone == nil {
		s.fail(s.servedNoMore())
	}
	if s.because != "" {
		s.because += "; it was ended by force"
	}
	s.stage.Kill()
}

// servedNoMore is the failure of an art-fuse that has ended before the guest.
func (s *session) servedNoMore() error {
	return cli.WithHint(fmt.Errorf("serve the workspace: art-fuse ended: %s", ending(s.fuseError)),
		"everything up to its last commit, at most a moment ago, is safe in the database")
}

// ending says how a process ended whose Wait returned err.
func ending(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// fail keeps the first reason why the session failed.
func (s *session) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// stageEnded is called when bubblewrap, or what came before it, has ended.
func (s *session) stageEnded() {
	s.stageDone = nil
	s.joinable.end()
	if s.heard() == nil {
		return
	}
	// What was said last may not have been looked at yet. With the last process of
	// the sandbox the messages end.
	for m := range s.messages {
		s.handle(m)
	}
}
