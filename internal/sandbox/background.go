package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/notify"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// Background is the zeroth argument of the process of a session in the background. It has a socket to the art that has
// started it.
const Background = "art-session"

// starterFD is that socket.
const starterFD = 3

// background is what a session has in the background.
type background struct {
	starter *os.File      // the socket to the art that has started it; nil for a session that was detached
	log     *sessions.Log // of its output
	pipes   [2]*os.File   // what the guest writes without a terminal comes out of the first; nil with one
	copied  chan struct{} // closed when all of that is in the log
	begun   atomic.Bool   // the command runs: the end of the starter ends the session no more
}

// begun is what the process of a session tells its starter when the command runs.
type begun struct{ ID string }

// size is what it is told of the terminal of who has started it.
type size struct{ Cols, Rows int }

// StartBackground starts the process of a session with the arguments of this one, and returns its id when its command runs.
// Otherwise it returns the exit code of what has failed, and has said why.
func StartBackground(o *Options, args []string) (id string, code int, err error) {
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		return "", cli.ExitArt, err
	}
	defer ours.Close()
	told, err := o.passEvents()
	if err != nil {
		return "", cli.ExitArt, err
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{Background}, args...), Stderr: os.Stderr, ExtraFiles: append([]*os.File{theirs}, told...),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return "", cli.ExitArt, fmt.Errorf("start the process of the session: %w", cli.Reason(err))
	}
	var s size
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if cols, rows, err := term.GetSize(int(f.Fd())); err == nil {
			s = size{cols, rows}
			break
		}
	}
	if err := libexec.SendFD(ours, -1, control.Marshal(&s)); err != nil {
		_ = cmd.Process.Kill()
	}
	if _, data, err := libexec.RecvFD(ours); err == nil {
		var b begun
		if err = control.Unmarshal(data, &b); err == nil {
			return b.ID, cli.OK, nil
		}
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return "", exit.ExitCode(), nil
	}
	return "", cli.ExitArt, fmt.Errorf("start the session: its process ended: %s", ending(err))
}

// checkBackground refuses what only somebody could have who waits for the session.
func (o *request) checkBackground() error {
	switch {
	case o.bare():
		return errors.New("start the session in the background: an agent without a sandbox has no session")
	case o.Trace != nil && o.Trace.Log == "":
		return cli.WithHint(errors.New("start the session in the background: its trace needs a file"), "name one with --trace-log FILE")
	}
	return nil
}

// goBackground opens the streams of a session in the background.
func (s *session) goBackground(o *request) error {
	b := &background{starter: os.NewFile(starterFD, "starter"), log: &sessions.Log{}, copied: make(chan struct{})}
	unix.CloseOnExec(starterFD)
	var at size
	_, data, err := libexec.RecvFD(b.starter)
	if err == nil {
		err = control.Unmarshal(data, &at)
	}
	if err != nil {
		return fmt.Errorf("start the session: %w", err)
	}
	if err := o.makeUnit(); err != nil {
		return err
	}
	s.background = b
	go func() {
		// The end of the starter is the end of a session that has not begun.
		_, _, _ = libexec.RecvFD(b.starter)
		if !b.begun.Load() {
			os.Exit(cli.ExitArt)
		}
	}()
	if name := os.Getenv("TERM"); o.Interactive && (name == "" || name == "dumb") {
		os.Setenv("TERM", "xterm-256color") // which is what the terminals that come later have in common
	}
	if o.Interactive {
		s.refusals.terminal = true
		s.streams = terminal.OpenHub(terminal.NewHub(terminal.Size{Cols: at.Cols, Rows: at.Rows}, b.log))
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("set up the streams: %w", err)
	}
	b.pipes = [2]*os.File{r, w}
	s.streams, err = terminal.Open(false, [3]*os.File{s.null, w, w})
	return err
}

// makeUnit makes this process a unit of systemd, with what it has started and will start, if that is asked for.
func (o *request) makeUnit() error {
	if wanted := cmp.Or(o.Systemd, o.under(o.user).Systemd.Value); wanted != "true" {
		return nil
	}
	name, err := filepath.Abs(o.Workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return control.HaveSync(ctx, control.ScopeWord, &control.Scope{
		PID: os.Getpid(), Name: fmt.Sprintf("art-%d.scope", os.Getpid()), Description: "art: " + notify.Clean(filepath.Base(name)),
	})
}

// ownStderr is the standard error of this process: that of its starter, and from leaveStarter on the log. art-fuse writes
// to it by a pipe: it would otherwise keep the starter's standard error open, and who reads that would wait for its end.
type ownStderr struct{}

func (ownStderr) Write(p []byte) (int, error) { return os.Stderr.Write(p) }

// leaveStarter has a session in the background go on without the art that has started it: its command runs.
func (s *session) leaveStarter() error {
	b := s.background
	if err := s.openLog(b); err != nil {
		return err
	}
	s.become(control.Detached)
	if b.pipes[0] != nil {
		b.pipes[1].Close()
		go func() {
			defer close(b.copied)
			_, _ = io.Copy(b.log, b.pipes[0]) // the log bounds itself
		}()
	}
	b.begun.Store(true)
	if err := libexec.SendFD(b.starter, -1, control.Marshal(&begun{s.registry.server.ID})); err != nil {
		return err // nobody knows of this session
	}
	_ = b.replace([3]bool{true, true, true})               // it has none of the starter's streams but standard error
	_ = unix.Shutdown(int(b.starter.Fd()), unix.SHUT_RDWR) // also wakes who waits for it
	rest()
	return nil
}

// openLog makes the session known, and its log.
func (s *session) openLog(b *background) error {
	s.register(0)
	r := &s.registry
	<-r.listening
	if r.refused != nil {
		return r.refused
	}
	if err := b.log.Open(os.Getenv, r.server.ID, s.plan.Workspace); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.Log = b.log.Path()
	return nil
}

// become notes who is with the session, and that this process is what it is.
func (s *session) become(state control.SessionState) {
	r := &s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info.State, r.info.PID = state, os.Getpid()
}

// replace has the given ones of the standard streams be /dev/null and the log, so that what art and art-fuse say from now on is in
// the log.
func (b *background) replace(which [3]bool) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", os.DevNull, cli.Reason(err))
	}
	defer null.Close()
	to, err := b.log.File()
	if err != nil {
		to = null
	} else {
		defer to.Close()
	}
	for fd, from := range [3]*os.File{null, to, to} {
		if which[fd] {
			_ = unix.Dup3(int(from.Fd()), fd, 0) // both are open
		}
	}
	return nil
}

// rest gives back memory that the start has needed.
func rest() {
	debug.SetGCPercent(25)
	go debug.FreeOSMemory()
}

// termGrace is how long a guest has to end that was asked to.
const termGrace = 10 * time.Second

// endSoon has the guest end that was asked to, or is; who does not end by itself is ended by force.
func (s *session) endSoon(why string) {
	if s.because != "" {
		return
	}
	s.because = why
	if s.ended == 0 {
		s.ended = unix.SIGTERM
	}
	s.kill = time.After(termGrace)
	if s.background != nil {
		s.registry.mu.Lock()
		s.registry.info.State = control.Ending
		s.registry.mu.Unlock()
	}
}

// tellEnd writes the last line of a session's log, and keeps how it ended for who waits later.
func (b *background) tellEnd(code int, why string, err error) {
	if b == nil || b.log.Path() == "" {
		return
	}
	if b.pipes[0] != nil {
		select {
		case <-b.copied:
		case <-time.After(endPatience): // somebody outside of the sandbox has the pipe
		}
	}
	line := fmt.Sprintf("art: the session ended %s with exit code %d", time.Now().Format("2006-01-02 15:04:05"), code)
	if err != nil && (why == "" || strings.Contains(err.Error(), why)) {
		why = err.Error()
	}
	if why != "" {
		line += ": " + cli.Printable(why)
	}
	b.log.Tell(line)
	b.log.End(sessionEnd(code, err))
}
