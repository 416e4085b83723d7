package seccomp

import (
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// TestServe has one answer wait for those to many other calls, which therefore have to be given meanwhile.
func TestServe(t *testing.T) {
	const others = 20
	uname, _ := syscalls.Native.Number("uname")
	filter := search(begin(syscalls.Native, allow, nil), spans(answer(nil, uname, unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW), unix.SECCOMP_RET_ALLOW))
	listening := make(chan int)
	ended := make(chan error, 1+others)
	go onThread(func() {
		fd, err := Listen(filter)
		if err != nil {
			t.Error(err)
		}
		listening <- fd
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
	fd := <-listening
	if fd < 0 {
		t.FailNow()
	}
	listener := NewListener(fd)
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
