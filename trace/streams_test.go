package trace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/trace"
)

// An input that never ends holds up no trace that has been told to end or has run nothing, and of one nothing is read then.
func TestInputThatWaits(t *testing.T) {
	testInputThatWaits(t, func(cmd *trace.Command) *trace.Command { return cmd })
	engines(t, testInputThatWaits)
}

func testInputThatWaits(t *testing.T, as func(*trace.Command) *trace.Command) {
	endless, w := io.Pipe()
	defer w.Close()
	if _, err := trace.Run(t.Context(), as(&trace.Command{Path: "/nonexistent", Stdin: endless}), trace.Ignore{}); !errors.Is(err, trace.ErrNotExecuted) {
		t.Errorf("without a program: %v", err)
	}
	text := strings.NewReader("text")
	if _, err := trace.Run(t.Context(), as(&trace.Command{Path: "/nonexistent", Stdin: text}), trace.Ignore{}); err == nil || text.Len() != 4 {
		t.Errorf("without a program: %v, %d bytes are left of 4", err, text.Len())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	cmd := as(shell("sleep 1000", "mkdir"))
	cmd.Stdin = endless
	if _, err := trace.Run(ctx, cmd, trace.Ignore{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told to end: %v", err)
	}
	var out bytes.Buffer
	cmd = as(shell("echo done; exit 3", "mkdir"))
	cmd.Stdin, cmd.Stdout, cmd.WaitDelay = endless, &out, 100*time.Millisecond
	if status, err := trace.Run(t.Context(), cmd, trace.Ignore{}); !errors.Is(err, exec.ErrWaitDelay) || status.ExitStatus() != 3 || out.String() != "done\n" {
		t.Errorf("with a delay: %v, %d, %q", err, status.ExitStatus(), out.String())
	}
}

// Of variables that are given twice the last counts, as in os/exec, and PWD is the directory.
func TestEnvironment(t *testing.T) {
	t.Setenv("FOO", "inherited")
	t.Setenv("PWD", "/elsewhere")
	dir := t.TempDir()
	engines(t, func(t *testing.T, as func(*trace.Command) *trace.Command) {
		for want, cmd := range map[string]*trace.Command{
			"new\n":          {Args: []string{"printenv", "FOO"}, Env: []string{"FOO=old", "FOO=new"}},
			dir + "\n":       {Args: []string{"printenv", "PWD"}, Dir: dir},
			"inherited\n/\n": {Args: []string{"printenv", "FOO", "PWD"}, Dir: "/"},
			"mine\n":         {Args: []string{"printenv", "PWD"}, Dir: "/", Env: []string{"PWD=mine"}},
		} {
			var out bytes.Buffer
			cmd.Path, cmd.Stdout, cmd.Calls = "/usr/bin/env", &out, []string{"mkdir"}
			cmd.Args = append([]string{"env"}, cmd.Args...)
			if cmd.Env != nil {
				cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin")
			}
			if _, err := trace.Run(t.Context(), as(cmd), trace.Ignore{}); err != nil || out.String() != want {
				t.Errorf("%q: %v, %q, want %q", cmd.Args, err, out.String(), want)
			}
		}
	})
}
