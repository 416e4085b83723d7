package sandbox

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// A session ends when its copy is whole, or goes no further, or somebody does not want to wait for it. art-replicate sees to the second one itself,
// as long as it runs: it may have been stopped, or be in a system call that does not return, as on a file server that is away.

const (
	// replicaSlow is how long the end waits for the copy before that is told. Until then no signal ends the wait: it may have been meant for
	// the command.
	replicaSlow = 2 * time.Second
	// replicaStuck is how long it waits for a copy that goes no further. art-replicate gives up some seconds earlier, and says why.
	replicaStuck = 40 * time.Second
	// replicaLeaves is how long art-replicate has to leave the database in order, and replicaDies how long its end may take after that: one that is in
	// a system call that does not return ends with that.
	replicaLeaves, replicaDies = 5 * time.Second, time.Second
	// replicaTries is how often art-replicate is started that is killed.
	replicaTries = 3
)

// endReplica waits until the copy is whole. art-fuse has ended. With vain, nothing has run: a database that was made for that is removed
// (forget), and so is its copy.
func (s *session) endReplica(vain bool) {
	r := &s.replica
	if s.replicate == nil || r.heard == nil || s.failed != nil && r.done == nil {
		return // it was never begun, or refused
	}
	if r.document != nil { // there is no database, and it touches nothing
		r.document.Close()
		r.life.Close()
		if r.done != nil {
			<-r.done
		}
		return
	}
	how := control.ReplicaEnd{Unused: s.guest == nil, Drop: vain && s.isNew()}
	if !how.Unused && !how.Drop {
		if pending := s.pending(); pending != nil {
			how.Counted, how.Pending = true, *pending
		}
	}
	refused, err := s.copyRest(&how)
	if err == nil {
		err = refused
	}
	r.whole, r.kept = err == nil && !how.Unused && !how.Drop, err != nil
	switch {
	case refused != nil: // as while the command runs, be it before its end or after
		s.fail(refused)
	case err != nil && !how.Drop:
		cli.Fail("art", cli.WithHint(fmt.Errorf("the copy is not whole: %w", err), "all is in the database; the next session that is copied there copies the rest"))
	}
}

// copyRest tells art-replicate how the session ends, and waits for its end. It returns why the copy was refused, or why it is not whole otherwise.
func (s *session) copyRest(how *control.ReplicaEnd) (refused, err error) {
	r := &s.replica
	for try := range replicaTries {
		if r.done == nil {
			if err := s.replicaAgainNow(); err != nil {
				return nil, err
			}
		}
		r.heard.end()
		_ = control.WriteFrame(r.life, how) // of one that has ended there is another
		r.life.Close()
		ended, gaveUp := s.awaitReplica(try == 0)
		if gaveUp != nil {
			return nil, gaveUp
		}
		failure := s.replicaFailure(ended)
		switch {
		case failure != nil && r.heard.last.Refused:
			return failure, nil
		case failure != nil || ended == nil:
			return nil, failure
		}
		err = fmt.Errorf("replicate the database to %s: art-replicate ended: %w", cli.Printable(s.replicate.Place), ended)
	}
	return nil, err
}

// end says that the session is over, and state what was heard last.
func (h *replicaHeard) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ending = true
}

func (h *replicaHeard) state() control.ReplicaState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// awaitReplica waits for the end of art-replicate, and says so where that takes long. gaveUp is why it was not waited for.
func (s *session) awaitReplica(tell bool) (ended, gaveUp error) {
	slow, every := time.After(replicaSlow), time.NewTicker(time.Second)
	defer every.Stop()
	s.dropSignals()
	said, _ := s.fromCaller()
	var asked unix.Signal
	note := func(sig unix.Signal) {
		if asksToEnd(sig) {
			asked = sig
		}
	}
	for forward, at := uint64(0), time.Now(); ; {
		select {
		case ended = <-s.replica.done:
			s.replica.done = nil
			return ended, nil
		case sig := <-s.signals.c:
			if !s.attended() {
				note(sig.(unix.Signal))
			}
		case m := <-said:
			if m.Kind == frontSignal {
				note(unix.Signal(m.Signal))
			}
		case <-slow:
			slow = nil
			if tell && !s.quiet {
				s.tellWait()
			}
		case <-every.C:
			if now := s.replica.heard.state().Done; now != forward {
				forward, at = now, time.Now()
			}
		}
		switch {
		case asked != 0 && slow == nil:
			gaveUp = errors.New("art got " + unix.SignalName(asked))
		case time.Since(at) > replicaStuck:
			gaveUp = errors.New("it takes nothing more")
			if state := s.replica.heard.state(); state.Why != "" {
				gaveUp = errors.New(why(&state))
			}
		default:
			continue
		}
		if s.leaveReplica() {
			return nil, nil
		}
		return nil, fmt.Errorf("replicate the database to %s: %w", cli.Printable(s.replicate.Place), gaveUp)
	}
}

// dropSignals forgets those that came before the wait: they were the command's.
func (s *session) dropSignals() {
	for {
		select {
		case <-s.signals.c:
		default:
			return
		}
	}
}

// tellWait says what the end of the session waits for.
func (s *session) tellWait() {
	text, state := "art: waiting for the copy at "+cli.Printable(s.replicate.Place), s.replica.heard.state()
	if state.Waits > 0 {
		text += ", which lacks " + cli.Bytes(int64(state.Waits))
	}
	if state.Why != "" {
		text += ": " + cli.Printable(state.Why)
	}
	fmt.Fprintln(os.Stderr, text+"; Ctrl-C ends the wait")
}

// leaveReplica has art-replicate end, and tells whether the copy was whole by then after all.
func (s *session) leaveReplica() (whole bool) {
	done := s.replica.done
	s.replica.done = nil
	s.replica.process.Signal(control.ReplicaGiveUp)
	select {
	case ended := <-done:
		return ended == nil
	case <-time.After(replicaLeaves):
	}
	s.replica.process.Kill()
	select {
	case <-done:
	case <-time.After(replicaDies):
	}
	return false
}
