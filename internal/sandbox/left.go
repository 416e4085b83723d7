package sandbox

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/processes"
	"github.com/riverlytech/art/internal/quote"
)

// What the command leaves in the guest when it ends.

const (
	// leftGrace is how long that has to end by itself, as what a shell was just about to wait for does.
	leftGrace = 50 * time.Millisecond
	// leftEvery is how often to look whether it has ended which is waited for.
	leftEvery = 200 * time.Millisecond
	// maxLeft is how many processes are named.
	maxLeft = 10
	// leftPatience is how long their command lines may take to be read.
	leftPatience = 100 * time.Millisecond
)

// left is what the command has left in the guest.
type left struct {
	alone  <-chan struct{}  // closed when the guest's first process has ended
	since  time.Time        // when that was noticed
	own    map[int]bool     // between that process and art: bubblewrap and what else is none of the guest
	look   <-chan time.Time // when to look again
	answer <-chan byte      // to the question whether to kill it
	waits  bool             // the session goes on until it has ended
	killed string           // what is to be told of that
}

// watchFirst has art notice the end of the guest's first process.
func (s *session) watchFirst(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch the guest: %w", err)
	}
	first, alone := os.NewFile(uintptr(fd), "first"), make(chan struct{})
	raw, err := first.SyscallConn()
	if err != nil {
		first.Close()
		return fmt.Errorf("watch the guest: %w", err)
	}
	go func() {
		defer close(alone)
		defer first.Close()
		_ = raw.Read(func(fd uintptr) bool { // ends with the process, if not before
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil
		})
	}()
	s.left.alone, s.left.own = alone, map[int]bool{}
	for pid = processes.Parent(pid); pid > 1 && pid != s.stage.Pid; pid = processes.Parent(pid) {
		s.left.own[pid] = true
	}
	return nil
}

// leftOver lists what is in the guest beside its first process, a little more than is named.
func (s *session) leftOver() []processes.Process {
	own := s.left.own
	roots, stubs := s.roots()
	for _, pid := range append(stubs, roots...) {
		own[pid] = true
	}
	var list []processes.Process
	for _, root := range roots {
		list = append(list, processes.Below(root, maxLeft+1-len(list), func(pid int) bool { return own[pid] })...)
	}
	return list
}

// roots are the processes on the host's side below which all of the guest is, and the stubs there.
func (s *session) roots() (roots, stubs []int) {
	roots = []int{s.stage.Pid}
	if s.joinable != nil {
		joined, ours := s.joinable.processes()
		roots, stubs = append(roots, joined...), ours
	}
	return roots, stubs
}

// commandEnded is called when the guest's first process has ended, and again as long as bubblewrap is not let end.
func (s *session) commandEnded() {
	l := &s.left
	if l.since.IsZero() {
		l.since = time.Now()
	}
	list := s.leftOver()
	switch ending := s.because != "" || s.failed != nil || s.kill != nil; {
	case len(list) == 0:
		s.letEnd()
	case l.waits, l.answer != nil:
		l.look = time.After(leftEvery)
	case time.Since(l.since) < leftGrace:
		l.look = time.After(leftGrace / 10)
	case s.atEnd == "wait" && !ending:
		if s.streams.Terminal != nil {
			s.streams.AwaitQuiet()
			s.streams.Terminal.Restore()
		}
		s.waitForLeft(named("the command has ended, and the session waits for what it has left running", list))
	case s.atEnd == "ask" && !ending && s.streams.Terminal != nil && s.streams.Foreground() && term.IsTerminal(int(os.Stderr.Fd())):
		s.ask(named("the command has ended, and has left running", list))
	default:
		l.killed = named("killed, which the command has left running", list)
		s.letEnd()
	}
}

// ask asks what is to become of what is left.
func (s *session) ask(text string) {
	s.streams.AwaitQuiet()
	answer, err := s.streams.Ask(os.Stderr, text+"art: kill them? [Y/n] ")
	if err != nil { // the terminal is gone
		s.left.killed = text
		s.letEnd()
		return
	}
	s.left.answer, s.left.look = answer, time.After(leftEvery)
}

// answered is called when a key was pressed for an answer.
func (s *session) answered(key byte) {
	const endOfFile = 4 // Ctrl-D
	switch key {
	case 'n', 'N':
		s.left.answer = nil
		s.streams.Terminal.Restore()
		s.waitForLeft("n\n")
		s.streams.GoOn()
	case 'y', 'Y', '\r', '\n', endOfFile:
		fmt.Fprintln(os.Stderr, "y")
		s.letEnd()
	}
}

func (s *session) waitForLeft(text string) {
	s.left.waits, s.left.look = true, time.After(leftEvery)
	how := "Ctrl-C"
	if s.background != nil {
		how = "art kill"
	}
	fmt.Fprintf(os.Stderr, "%sart: the session ends when they do, or by %s\n", text, how)
}

// isLeft says whether the command has ended, and the session goes on for what it has left.
func (s *session) isLeft() bool { return s.left.waits || s.left.answer != nil }

// hasEnded says whether the command has ended. Whatever ends the session after that, its exit code is the session's.
func (s *session) hasEnded() bool { return !s.left.since.IsZero() }

// letEnd lets bubblewrap end, and with it all that is left.
func (s *session) letEnd() {
	s.left.look, s.left.answer = nil, nil
	s.exitReport.release()
}

// tellLeft tells what has ended with the session.
func (s *session) tellLeft() {
	if !s.quiet {
		_, _ = io.WriteString(os.Stderr, s.left.killed)
	}
}

// named returns a line for each of the processes below a heading. What they are called is the guest's word.
func named(heading string, list []processes.Process) string {
	text := "art: " + heading + ":\n"
	for i, words := range processes.Commands(list[:min(len(list), maxLeft)], leftPatience) {
		text += fmt.Sprintf("art:   %d %s\n", list[i].PID, quote.Command(words, 100))
	}
	if len(list) > maxLeft {
		text += "art:   and more\n"
	}
	return text
}
