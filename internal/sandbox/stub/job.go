package stub

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/scope"
)

// runJob runs the command as a shell does that has job control: in a process group of its own, in the foreground of
// the terminal. The kernel lets the keys of a terminal stop a process group only if a member has its parent in
// another group of the same session (setpgid(2), orphaned process groups): somebody who continues it. This is that
// parent. It tells art when the command stops, and art continues it. It returns the exit code.
func (p *Payload) runJob(link *os.File, set scope.Ruleset) int {
	// Whoever ends the session ends the command, and what the terminal does to its leader (SIGHUP) is not for this
	// process, whose exit code becomes the session's.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	child, err := p.newChild(link, set)
	if err != nil {
		return fail(err)
	}
	pid, err := child.run()
	if err != nil {
		return fail(fmt.Errorf("start the command: %w", err))
	}
	if err := protect(); err != nil {
		return fail(err)
	}
	failed, errno, err := child.outcome()
	if err != nil {
		return fail(fmt.Errorf("start the command: %w", err))
	}
	if failed {
		_, _ = unix.Wait4(pid, nil, 0, nil)
		return p.notStarted(child.step, errno)
	}
	tty, err := unix.FcntlInt(child.tty, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fail(fmt.Errorf("start the command: %w", err))
	}
	for fd := range 3 { // the command's alone
		unix.Close(fd)
	}
	go goOn(pid, tty, link)
	return attend(pid, link)
}

// goOn continues the command each time that art says so, in the foreground of the terminal or in its background.
func goOn(pid, tty int, link *os.File) {
	for {
		m, err := control.Receive(link)
		if err != nil {
			return // art is gone, and so is the sandbox in a moment
		}
		own := unix.Getpgrp()
		front, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
		switch {
		case err != nil: // the terminal is gone
		case !m.Foreground:
			_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, own)
		case front == own: // otherwise a shell has another job there
			_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, pid)
		}
		_ = unix.Kill(-pid, unix.SIGCONT) // fails if it has ended
	}
}

// protect keeps the guest from tracing this process, from its memory and from its descriptors (ptrace(2), dumpable).
func protect() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect the link to art: %w", err)
	}
	return nil
}

// notStarted says why the child is not the command, and returns the exit code.
func (p *Payload) notStarted(s step, errno unix.Errno) int {
	if s == stepExec {
		return p.notExecuted(errno)
	}
	return fail(fmt.Errorf("%s: %w", stepNames[s], errno))
}

// attend waits for the command's end, tells art each time that it stops, and returns its exit code.
func attend(pid int, link *os.File) int {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return cli.ExitArt
		case status.Exited():
			return status.ExitStatus()
		case status.Signaled():
			return cli.ExitSignal + int(status.Signal())
		case status.Stopped():
			// If art is gone so is the sandbox in a moment.
			_ = control.Send(link, -1, control.Message{Kind: control.Stopped})
		}
	}
}

// terminalStream returns a standard stream that is the terminal.
func (p *Payload) terminalStream() int { return slices.Index(p.Terminal[:], true) }
