package trace_test

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

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
