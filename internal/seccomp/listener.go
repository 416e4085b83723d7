package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Listener answers for a filter that asks (seccomp_unotify(2)).
type Listener struct {
	fd    int
	until int // a descriptor that says when nothing is to be received any more; -1 is none
}

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
	return &Listener{fd, -1}
}

const (
	// patience is how long an answer may take for the next call to wait for it; it may be twice that.
	patience = 50 * time.Millisecond
	// maxSlow is how many answers may take longer at once. Each keeps a thread.
	maxSlow = 64
)

// server serves one listener.
type server struct {
	*Listener
	answer func(*Notification)
	over   chan struct{}

	// turn is odd while an answer is in the making. Who makes it leads; when turn is another number at its end, another goroutine does.
	turn  atomic.Uint64
	slow  chan struct{} // one for each answer that takes longer
	idle  atomic.Bool   // the watch waits for a call
	begun chan struct{} // wakes it
}

// Serve passes each call to answer, which is to answer it, and closes the listener when nobody is left who could ask: from then on the
// kernel refuses with ENOSYS. Calls are taken one after the other on one thread, since to wake another costs more than most answers
// take; where one takes longer, another thread goes on with the next. answer must not keep its argument.
func (l *Listener) Serve(answer func(*Notification)) {
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2) // one is for waiting
	}
	s := &server{Listener: l, answer: answer, over: make(chan struct{}), slow: make(chan struct{}, maxSlow), begun: make(chan struct{}, 1)}
	go s.lead()
	s.watch()
	for range maxSlow { // until all have answered
		s.slow <- struct{}{}
	}
	unix.Close(l.fd)
}

// lead takes calls until there will be none any more, or until another goroutine leads.
func (s *server) lead() {
	n := &Notification{}
	for s.Receive(n) {
		turn := s.turn.Add(1)
		if s.idle.Load() && s.idle.CompareAndSwap(true, false) {
			s.begun <- struct{}{}
		}
		s.answer(n)
		if !s.turn.CompareAndSwap(turn, turn+1) {
			<-s.slow
			return
		}
	}
	close(s.over)
}

// Receive waits for the next call, whatever has become of those before, and returns false when there will be none any more. Who takes one
// call after the other, as Serve does not, needs at least two processors of Go's (runtime.GOMAXPROCS): one is for waiting.
func (l *Listener) Receive(n *Notification) bool {
	for l.wait() {
		*n = Notification{} // as the kernel demands
		switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)); {
		case err == nil:
			return true
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ENOENT): // who asked has been killed
			return false
		}
	}
	return false
}

// Until has Receive return false, too, when descriptor until can be read.
func (l *Listener) Until(until int) { l.until = until }

// Close ends the listening. From then on the kernel refuses the calls with ENOSYS.
func (l *Listener) Close() { unix.Close(l.fd) }

// watch has another goroutine lead when an answer takes long. It looks from time to time, as a timer for each answer would cost more than
// the answer, and not at all while there are no calls.
func (s *server) watch() {
	last := s.turn.Load()
	for {
		select {
		case <-s.over:
			return
		case <-time.After(patience):
		}
		turn := s.turn.Load()
		switch {
		case turn != last:
		case turn%2 == 1:
			s.slow <- struct{}{}
			if s.turn.CompareAndSwap(turn, turn+1) {
				go s.lead()
			} else {
				<-s.slow
			}
		default:
			s.idle.Store(true)
			if s.turn.Load() != turn && s.idle.CompareAndSwap(true, false) {
				break
			}
			select {
			case <-s.over:
				return
			case <-s.begun:
			}
		}
		last = turn
	}
}

const (
	// nap is how long to wait for a call in a way that Go's scheduler knows nothing of. Its garbage collector may have to wait so long.
	nap = 5 * time.Millisecond
	// naps is how many of these to take before the scheduler is told.
	naps = 20
)

// wait waits for a call, and returns false when there will be none any more.
//
// After a call of which Go's scheduler knows that it waits, others have got the processor of this goroutine, and have to be woken. The
// scheduler's own thread then looks what has become of it, every 20 microseconds. Both take longer than an answer, so one that has
// just answered waits on the quiet for the next call.
func (l *Listener) wait() bool {
	// A descriptor that is negative is passed over (poll(2)).
	ready := [2]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.until), Events: unix.POLLIN}}
	for i := 0; ; i++ {
		var n uintptr
		var errno unix.Errno
		if i < naps {
			timeout := unix.NsecToTimespec(nap.Nanoseconds())
			n, _, errno = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&ready)), uintptr(len(ready)), uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
		} else {
			n, _, errno = unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&ready)), uintptr(len(ready)), 0, 0, 0, 0)
		}
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return false
		case n > 0:
			return ready[0].Revents&unix.POLLIN != 0 && ready[1].Revents == 0
		}
	}
}

// Refuse has a call fail. It is no error that who asked is gone.
func (l *Listener) Refuse(n *Notification, errno unix.Errno) error {
	return l.send(&response{id: n.ID, err: -int32(errno)})
}

// Return has a call return a value without being made.
func (l *Listener) Return(n *Notification, value int64) error {
	return l.send(&response{id: n.ID, val: uint64(value)})
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
	if _, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
