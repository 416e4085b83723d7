package sandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
	sessions "github.com/riverlytech/art/internal/session"
)

// registry is what others find of a session: its socket, and what it answers there.
type registry struct {
	asks chan func()   // what is asked of the goroutine of Run
	over chan struct{} // closed when that takes no more

	timer     *time.Timer      // begins to listen
	listening chan struct{}    // closed when server and refused are set; nil before register
	server    *sessions.Server // nil if nobody can connect
	refused   error            // why

	mu      sync.Mutex
	info    control.SessionInfo     // GUARDED_BY(mu)
	end     *control.SessionEnd     // GUARDED_BY(mu); how it ended, once it has
	copy    *control.ReplicaState   // GUARDED_BY(mu); how far the database is copied; nil until art-replicate has said that
	waiting map[*sessions.Conn]bool // GUARDED_BY(mu); whom to tell
	viewing sync.WaitGroup          // who looks at the terminal, and is told at the end; none is added once there is one
	ended   chan struct{}           // closed when end is set
	ledger  *netledger.Ledger       // GUARDED_BY(mu); what the guest does on a network by name; nil without
	grants  *grants                 // GUARDED_BY(mu); what it is granted there; nil without
}

func newRegistry() registry {
	return registry{asks: make(chan func()), over: make(chan struct{}), waiting: map[*sessions.Conn]bool{}, ended: make(chan struct{})}
}

// shortest is how long a session has to run before anyone can find it: one that ends before that is not slowed down by it.
const shortest = 30 * time.Millisecond

// endPatience is how long a session that has ended waits for those who look at its terminal to see the last of it.
const endPatience = 2 * time.Second

// register begins to listen after a time.
func (s *session) register(after time.Duration) {
	r := &s.registry
	if r.listening != nil {
		if r.timer.Stop() {
			r.timer.Reset(after)
		}
		return
	}
	r.listening = make(chan struct{})
	r.info = control.SessionInfo{
		PID: s.pid(), Workspace: s.plan.Workspace, Database: s.plan.Database, Command: logged(s.payload.Command),
		Started: time.Now(), Terminal: s.streams.OnTerminal(),
	}
	r.timer = time.AfterFunc(after, func() {
		defer close(r.listening)
		var dir string
		if dir, r.refused = sessions.Make(os.Getenv); r.refused != nil {
			return
		}
		if r.server, r.refused = sessions.Listen(dir, s.answer); r.refused != nil {
			return
		}
		r.mu.Lock()
		r.info.ID = r.server.ID
		r.mu.Unlock()
	})
}

// pid is the process that signals for the session are for.
func (s *session) pid() int {
	if s.attended() {
		return os.Getppid()
	}
	return os.Getpid()
}

// unregister tells who waits how the session ended, and that it is none any more.
func (s *session) unregister(code int, err error) {
	r := &s.registry
	if r.listening == nil || r.timer.Stop() {
		return
	}
	<-r.listening
	if r.server == nil {
		return
	}
	r.mu.Lock()
	r.end = sessionEnd(code, err)
	for c := range r.waiting {
		_ = c.Answer(r.end) // who has gone need not know
	}
	r.mu.Unlock()
	close(r.ended)
	viewed := make(chan struct{})
	go func() { r.viewing.Wait(); close(viewed) }()
	select {
	case <-viewed:
	case <-time.After(endPatience): // of one that reads nothing
	}
	r.server.Close()
}

// sessionEnd is what those are told who wait.
func sessionEnd(code int, err error) *control.SessionEnd {
	end := &control.SessionEnd{Code: code}
	if err != nil {
		end.Why = err.Error()
	}
	return end
}

// do has the goroutine of Run do something, and says whether it has.
func (r *registry) do(f func()) bool {
	done := make(chan struct{})
	select {
	case r.asks <- func() { f(); close(done) }:
		<-done
		return true
	case <-r.over:
		return false
	}
}

var errEnded = errors.New("it is ending")

// answer answers what is asked on a connection, which is closed afterwards.
func (s *session) answer(c *sessions.Conn, ask *control.Ask) {
	var err error
	switch ask.Kind {
	case control.AskInfo:
		s.registry.mu.Lock()
		info := s.registry.info
		info.Copied, info.Copy = s.copied()
		s.registry.mu.Unlock()
		err = c.Answer(&info)
	case control.AskKill:
		err = s.answerKill(c, ask)
	case control.AskWait:
		err = s.answerWait(c)
	case control.AskAttach:
		err = s.answerAttach(c, ask)
	case control.AskTree:
		err = s.answerTree(c)
	case control.AskExec:
		err = s.answerExec(c, ask)
	case control.AskFlows:
		err = s.answerFlows(c, ask)
	case control.AskPorts:
		err = s.answerPorts(c)
	case control.AskGrant:
		err = s.answerGrant(c, ask)
	case control.AskGrants:
		err = s.answerGrants(c)
	default:
		err = errors.New("this session cannot do that")
	}
	if err != nil {
		c.Refuse(err)
	}
}

// answerKill sends the guest a signal.
func (s *session) answerKill(c *sessions.Conn, ask *control.Ask) error {
	var kill control.KillAsk
	if err := control.Unmarshal(ask.Body, &kill); err != nil {
		return fmt.Errorf("send a signal: %w", err)
	}
	sig := unix.Signal(kill.Signal)
	if unix.SignalName(sig) == "" {
		return fmt.Errorf("send a signal: there is no signal %d", kill.Signal)
	}
	if !s.registry.do(func() { s.sendSignal(sig) }) {
		return errEnded
	}
	return c.Answer(nil)
}

// sendSignal does with the guest what a signal to art would; SIGKILL ends the session.
func (s *session) sendSignal(sig unix.Signal) {
	switch {
	case sig == unix.SIGKILL:
		s.endedBy("art kill sent SIGKILL")
		if s.ended == 0 {
			s.ended = sig
		}
		s.stage.Kill()
	case s.isLeft() && asksToEnd(sig):
		s.endedBy("art kill sent " + unix.SignalName(sig))
		s.letEnd()
	case s.guest != nil:
		if sig == unix.SIGTERM && s.background != nil {
			s.endSoon("art kill sent SIGTERM")
		}
		s.sent = sent{sig, "art kill sent"}
		s.guest.signal(sig)
		if s.job && sig == unix.SIGTERM {
			time.AfterFunc(ignoredAfter, func() { s.registry.do(s.hangUpShell) })
		}
		if s.job && sig != unix.SIGSTOP && sig != unix.SIGTSTP {
			s.guest.signal(unix.SIGCONT)
		}
	}
}

// ignoredAfter is when it is known whether a command ignores a signal: one that was just begun says so soon.
const ignoredAfter = 100 * time.Millisecond

// hangUpShell ends a command that ignores SIGTERM, as shells do, as it would end with its terminal.
func (s *session) hangUpShell() {
	if s.guest.ignores(unix.SIGTERM) {
		s.guest.hangUp()
	}
}

// answerWait answers when the session has ended.
func (s *session) answerWait(c *sessions.Conn) error {
	if err := c.Answer(nil); err != nil {
		return err
	}
	r := &s.registry
	r.mu.Lock()
	end := r.end
	if end == nil {
		r.waiting[c] = true
	}
	r.mu.Unlock()
	if end != nil {
		return c.Answer(end)
	}
	_, _ = c.Receive() // it says no more, until it goes or the session does
	r.mu.Lock()
	delete(r.waiting, c)
	r.mu.Unlock()
	return nil
}
