package trace_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
)

// kept traces a script by the engine that has a keeper, the script's parent. It must end with an error.
func kept(t *testing.T, ctx context.Context, script string) error {
	t.Helper()
	cmd := shell(script, "mkdir")
	cmd.Entries, cmd.Engine = true, trace.Notification
	_, err := trace.Run(ctx, cmd, trace.Ignore{})
	if err == nil {
		t.Error("no error")
	}
	return err
}

// A command that kills the keeper ends with it, and so does what it has started.
func TestKeeperKilled(t *testing.T) {
	begun := time.Now()
	err := kept(t, t.Context(), "setsid sleep 1000 & kill -9 $PPID; sleep 1000")
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("%v after %v", err, took)
	}
}

// What has no parent any more when the keeper is killed cannot be found. The trace ends without it.
func TestKeeperKilledLate(t *testing.T) {
	file := t.TempDir() + "/pid"
	begun := time.Now()
	err := kept(t, t.Context(), `k=$PPID; (setsid sh -c "echo \$\$ >`+file+`; sleep 0.5; kill -9 $k; exec sleep 1000" &)`)
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("%v after %v", err, took)
	}
	text, _ := os.ReadFile(file)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

// A command that stops the keeper is killed all the same.
func TestKeeperStopped(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begun := time.Now()
	err := kept(t, ctx, "kill -STOP $PPID; sleep 1000")
	if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took > time.Minute {
		t.Errorf("%v after %v", err, took)
	}
}
