package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Others open and close files while commands are started: the numbers of descriptors that a command is started with are any.
func TestStartBesideOthers(t *testing.T) {
	done := make(chan struct{})
	var others, traces sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var open []*os.File
				for range rand.IntN(12) {
					if f, err := os.Open(os.DevNull); err == nil {
						open = append(open, f)
					}
				}
				for _, f := range open {
					f.Close()
				}
			}
		})
	}
	for _, engine := range []trace.Engine{trace.Ptrace, trace.Notification} {
		for range 4 {
			traces.Go(func() {
				for range 40 {
					status, err := trace.Run(context.Background(), &trace.Command{Path: "/bin/true", Args: []string{"true"}, Calls: []string{"execve"}, Engine: engine, Entries: true},
						trace.Hooks{OnEnter: func(*decode.Call) error { return nil }})
					if err != nil || status.ExitStatus() != 0 {
						t.Errorf("engine %v: %v, %d", engine, err, status.ExitStatus())
						return
					}
				}
			})
		}
	}
	traces.Wait()
	close(done)
	others.Wait()
}

// What others start meanwhile gets none of the sockets by which a command is started: with one, it could speak for the tracer.
func TestNothingLeaks(t *testing.T) {
	sockets := func() int {
		out, err := exec.Command("sh", "-c", "ls -l /proc/self/fd").Output()
		if err != nil {
			t.Error(err)
		}
		return strings.Count(string(out), "socket:")
	}
	before := sockets() // of whoever runs the test
	done := make(chan struct{})
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if n := sockets(); n != before {
					t.Errorf("another child has %d sockets", n-before)
					return
				}
			}
		})
	}
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		for range 100 {
			if _, err := trace.Run(t.Context(), as(&trace.Command{Path: "/bin/true", Calls: []string{"execve"}}), trace.Ignore{}); err != nil {
				t.Error(err)
			}
		}
	})
	close(done)
	others.Wait()
}

// The command has the descriptors that this process lets it inherit, at their numbers, also those next to the streams'.
func TestInherit(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const most = 40
	script := "for fd in"
	for range most {
		fd, err := unix.FcntlInt(r.Fd(), unix.F_DUPFD, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		script += fmt.Sprintf(" %d", fd)
	}
	script += "; do readlink /proc/$$/fd/$fd; done"
	want, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		var out bytes.Buffer
		cmd := as(shell(script, "mkdir"))
		cmd.Stdout = &out
		if _, err := trace.Run(t.Context(), cmd, trace.Ignore{}); err != nil || out.String() != strings.Repeat(want+"\n", most) {
			t.Errorf("%v, %q", err, out.String())
		}
	})
}
