package seccomp

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Listener answers for a filter that asks (seccomp_unotify(2)).
type Listener struct{ fd int }

// Notification is a call that waits for an answer: struct seccomp_notif, with its struct seccomp_data
// (include/uapi/linux/seccomp.h).
type Notification struct {
	ID         uint64
	TID, Flags uint32 // TID is the thread's, in the process namespace of who listens
	Nr         int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id, val uint64
	err     int32
	flags   uint32
}

// NewListener takes over the descriptor that Listen has returned. Who asks is then answered on its own processor, where the kernel
// can do that (SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, since 6.6): it waits anyway, and to wake a thread elsewhere takes longer.
func NewListener(fd int) *Listener {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	return &Listener{fd}
}

const (
	// patience is how long an answer may take for the next call to wait for it.
	patience = 50 * time.Millisecond
	// maxSlow is how many answers may take longer at once. Each keeps a thread.
	maxSlow = 64
)

// Serve passes each call to answer, which is to answer it, and closes the listener when nobody is left who could ask: from then on the
// kernel refuses with ENOSYS. Calls are taken one after the other on one thread, since to wake another costs more than most answers
// take; where one takes longer, another thread goes on with the next.
func (l *Listener) Serve(answer func(*Notification)) {
	over, slow := make(chan struct{}), make(chan struct{}, maxSlow)
	var answers sync.WaitGroup
	var lead func()
	succeed := func() {
		slow <- struct{}{}
		lead()
	}
	lead = func() {
		for l.wait() {
			var n Notification
			switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
			case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT): // who asked has been killed
				continue
			case err != nil:
				close(over)
				return
			}
			answers.Add(1)
			next := time.AfterFunc(patience, succeed)
			answer(&n)
			answers.Done()
			if !next.Stop() {
				<-slow
				return
			}
		}
		close(over)
	}
	go lead()
	<-over
	answers.Wait()
	unix.Close(l.fd)
}

// wait waits for a call, and returns false when there will be none any more.
func (l *Listener) wait() bool {
	for {
		ready := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		switch _, err := unix.Poll(ready, -1); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return false
		default:
			return ready[0].Revents&unix.POLLIN != 0
		}
	}
}

// Refuse has a call fail. It is no error that who asked is gone.
func (l *Listener) Refuse(n *Notification, errno unix.Errno) error {
	return l.send(&response{id: n.ID, err: -int32(errno)})
}

// Continue has the kernel make the call, with what the arguments point to by then: this permits nothing that is not permitted anyway.
func (l *Listener) Continue(n *Notification) error {
	return l.send(&response{id: n.ID, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

// Waits says whether who asked still waits for the answer: if not, its id may be another's by now.
func (l *Listener) Waits(n *Notification) bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.ID)) == nil
}

func (l *Listener) send(r *response) error {
	for {
		switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(r)); {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("answer a call: %w", err)
		}
	}
}

func (l *Listener) ioctl(request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
