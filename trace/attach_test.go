package trace_test

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// A process that is let go in a call whose arguments were changed makes it with its own again.
func TestAttachRestores(t *testing.T) {
	cmd := exec.Command("dd", "bs=100", "count=1", "status=none")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// dd waits for its input before long.
	err = trace.Attach(ctx, cmd.Process.Pid, []string{"read"}, hooks(func(c *decode.Call) {
		if c.Args[0] == 0 && c.Args[2] == 100 {
			c.Args[2] = 3
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	}, nil))
	if err != nil {
		t.Error(err)
	}
	if _, err := in.Write([]byte("0123456789")); err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil || out.String() != "0123456789" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// Several processes are traced at once, or none of them.
func TestAttachAll(t *testing.T) {
	var pids []int
	for range 2 {
		cmd := exec.Command("/bin/sh", "-c", "while sleep 0.01; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		pids = append(pids, cmd.Process.Pid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := map[int]bool{}
	if err := trace.AttachAll(ctx, pids, []string{"wait4"}, hooks(nil, func(c *decode.Call) {
		if seen[c.Pid] = true; seen[pids[0]] && seen[pids[1]] {
			cancel()
		}
	})); err != nil {
		t.Error(err)
	}
	if err := trace.AttachAll(t.Context(), append(pids, 1<<30), nil, trace.Ignore{}); err == nil {
		t.Error("no error for a process that there is none of")
	}
	for _, pid := range pids { // nobody traces it
		again, stop := context.WithCancel(t.Context())
		if err := trace.Attach(again, pid, []string{"wait4"}, hooks(nil, func(*decode.Call) { stop() })); err != nil {
			t.Error(err)
		}
		stop()
	}
}
