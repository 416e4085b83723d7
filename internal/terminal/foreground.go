package terminal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A shell with job control has several jobs on one terminal, of which one is in the foreground. The others may write there, but
// what is typed is not for them: the kernel stops a job that reads it, or changes the terminal's modes, from the background
// (job_control in drivers/tty/n_tty.c). So nothing is read here that the guest has not asked for: in the background the guest's
// own terminal is in the background of the guest, and a guest that reads is stopped there.

// Foreground tells whether this process may read what is typed on the terminal, and change its modes: it is in the foreground, or
// the terminal is not the one that controls it.
func (t *Terminal) Foreground() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil || group <= 0 || group == unix.Getpgrp()
}

// AwaitForeground has the kernel stop this process, as the job of a shell that it is, until it is in the foreground: for who has
// nothing to do in the background.
func (t *Terminal) AwaitForeground() error {
	for {
		// tcdrain(3), which stops who calls it in the background, and changes nothing.
		err := unix.IoctlSetInt(t.fd, unix.TCSBRK, 1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for the terminal: %w", err)
		}
		return nil
	}
}

// lookEvery is how often somebody in the background looks whether that is still so, in milliseconds. The kernel tells nobody, and
// a shell continues only jobs that are stopped.
const lookEvery = 100

// Read reads what is typed. In the background it waits until this process is in the foreground.
func (t *Terminal) Read(p []byte) (int, error) {
	for {
		wait, watched := -1, []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}, {Fd: int32(t.wake), Events: unix.POLLIN}}
		front := t.Foreground()
		if front {
			t.come()
		} else {
			wait, watched[0].Events = lookEvery, 0 // but the terminal's end is news
		}
		n, err := unix.Poll(watched, wait)
		switch {
		case errors.Is(err, unix.EINTR), n == 0:
		case err != nil:
			return 0, os.NewSyscallError("poll", err)
		case watched[1].Revents != 0:
			_, _ = unix.Read(t.wake, make([]byte, 8))
		case watched[0].Revents&^unix.POLLIN != 0, t.Foreground():
			return t.file.Read(p)
		}
	}
}

// come tells that the terminal can be made raw, if it should have been before.
func (t *Terminal) come() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owed {
		t.owed = false
		select {
		case t.Came <- struct{}{}:
		default: // nobody has heard of the last time yet
		}
	}
}
