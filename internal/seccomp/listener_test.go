package seccomp

import (
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// kernels are filters that make the kernel one that lacks something.
var kernels = map[string][]unix.SockFilter{
	"this one": nil,
	// SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP is refused as a request that there is not (seccomp_notify_ioctl in kernel/seccomp.c).
	"before 6.6": lacking("ioctl", slices.Concat(load(1), oneOf([]uint32{unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS}, refuse(unix.EINVAL)), allow)),
	// SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV is refused as a flag that there is not (seccomp_set_mode_filter, there).
	"before 5.19": lacking("seccomp", slices.Concat(load(1),
		skipUnless(unix.BPF_JSET, unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 1), refuse(unix.EINVAL), allow)),
}

// lacking returns a filter with a body for a call, and nothing against the others.
func lacking(call string, body []unix.SockFilter) []unix.SockFilter {
	p, actions := (&rule{calls: []string{call}}).add(syscalls.Native, body, begin(syscalls.Native, allow, nil), nil, unix.SECCOMP_RET_ALLOW)
	return search(p, spans(actions, unix.SECCOMP_RET_ALLOW))
}

// The other kernels lack what they are to lack, and nothing else: a request and a flag that there are fail for what comes with them.
func TestKernels(t *testing.T) {
	want := map[string][2]unix.Errno{"this one": {unix.EBADF, unix.EFAULT}, "before 6.6": {unix.EINVAL, unix.EFAULT}, "before 5.19": {unix.EBADF, unix.EINVAL}}
	for name, lacks := range kernels {
		done := make(chan struct{})
		go onThread(func() {
			defer close(done)
			if lacks != nil {
				if err := Install(lacks); err != nil {
					t.Error(err)
				}
			}
			_, _, request := unix.Syscall(unix.SYS_IOCTL, ^uintptr(0), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, 0)
			const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
			_, _, flag := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
			if got := [2]unix.Errno{request, flag}; got != want[name] {
				t.Errorf("%s: %v, want %v", name, got, want[name])
			}
		})
		<-done
	}
}

// asking returns the number of uname, and a filter that asks about it.
func asking() (int, []unix.SockFilter) {
	uname, _ := syscalls.Native.Number("uname")
	return uname, search(begin(syscalls.Native, allow, nil), spans(answer(nil, uname, unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW), unix.SECCOMP_RET_ALLOW))
}

// listen loads the filter into the calling thread, on a kernel that lacks something, and listens there.
func listen(lacks, filter []unix.SockFilter) (*Listener, error) {
	if lacks != nil {
		if err := Install(lacks); err != nil {
			return nil, err
		}
	}
	fd, err := Listen(filter)
	if err != nil {
		return nil, err
	}
	return NewListener(fd), nil
}

// Signals interrupt a call that waits for its answer where the kernel cannot keep them from it, which is asked about again then. It
// does not fail in either case.
func TestInterrupted(t *testing.T) {
	for name, lacks := range kernels {
		t.Run(name, func(t *testing.T) { testInterrupted(t, lacks, name == "before 5.19") })
	}
}

func testInterrupted(t *testing.T, lacks []unix.SockFilter, again bool) {
	const calls = 200
	uname, filter := asking()
	listening := make(chan *Listener)
	var out []byte
	go onThread(func() {
		listener, err := listen(lacks, filter)
		if err != nil {
			t.Error(err)
		}
		listening <- listener
		if err != nil {
			return
		}
		out, err = exec.Command("/usr/bin/python3", "-S", "-c", `
import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
names = {os.uname().sysname for _ in range(`+strconv.Itoa(calls)+`)}
signal.setitimer(signal.ITIMER_REAL, 0)
print(names)`).CombinedOutput()
		if err != nil || string(out) != "{'Linux'}\n" {
			t.Errorf("%v\n%s", err, out)
		}
	})
	listener := <-listening
	if listener == nil {
		t.FailNow()
	}
	var counted atomic.Int32
	listener.Serve(func(n *Notification) {
		if n.Nr != int32(uname) {
			t.Errorf("asked about call %d", n.Nr)
		}
		if counted.Add(1)%10 == 0 {
			time.Sleep(3 * time.Millisecond) // until a signal has come
		}
		if err := listener.Continue(n); err != nil {
			t.Error(err)
		}
	})
	if asked := counted.Load(); asked < calls || (asked > calls) != again {
		t.Errorf("asked %d times about %d calls", asked, calls)
	}
}

// TestServe has one answer wait for those to many other calls, which therefore have to be given meanwhile.
func TestServe(t *testing.T) {
	for name, lacks := range kernels {
		t.Run(name, func(t *testing.T) { testServe(t, lacks) })
	}
}

func testServe(t *testing.T, lacks []unix.SockFilter) {
	const others = 20
	uname, filter := asking()
	listening := make(chan *Listener)
	ended := make(chan error, 1+others)
	go onThread(func() {
		listener, err := listen(lacks, filter)
		if err != nil {
			t.Error(err)
		}
		listening <- listener
		var commands []*exec.Cmd
		for range 1 + others {
			c := exec.Command("uname")
			if err := c.Start(); err != nil {
				t.Error(err)
			}
			commands = append(commands, c)
		}
		for _, c := range commands {
			ended <- c.Wait()
		}
	})
	listener := <-listening
	if listener == nil {
		t.FailNow()
	}
	over := make(chan struct{})
	var calls, answered atomic.Int32
	var late atomic.Bool
	go func() {
		defer close(over)
		listener.Serve(func(n *Notification) {
			if n.Nr != int32(uname) {
				t.Errorf("asked about call %d", n.Nr)
			}
			if calls.Add(1) == 1 {
				for end := time.Now().Add(10 * time.Second); answered.Load() < others && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				late.Store(answered.Load() < others)
			}
			if !listener.Waits(n) {
				t.Error("who asked is gone")
			}
			if err := listener.Continue(n); err != nil {
				t.Error(err)
			}
			answered.Add(1)
		})
	}()
	for range 1 + others {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	<-over // when the last one with the filter is gone, the listener is
	if calls.Load() != 1+others || late.Load() {
		t.Errorf("%d calls; others waited for one: %v", calls.Load(), late.Load())
	}
}

// onThread calls f on a thread that ends afterwards, which the first one of a process does not.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		onThread(f)
	}()
	<-done
}
