package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// sessions runs one of each kind.
func sessions(ctx context.Context, o *Options) []Finding {
	dir, err := os.MkdirTemp("", "art-doctor-")
	if err != nil {
		return []Finding{failure("sessions", fmt.Errorf("make a directory for trials: %w", err))}
	}
	defer os.RemoveAll(dir)
	var findings []Finding
	for _, s := range []struct {
		what, says string
		args       []string
	}{
		{"direct mode", "a session runs", []string{"--db="}},
		{"overlay mode", "a session runs", []string{"--db", filepath.Join(dir, "try.db")}},
		{"traces", "a session runs", []string{"--db=", "--trace", "--trace-log", filepath.Join(dir, "log")}},
	} {
		cmd := session(ctx, o, nil, append(s.args, "--", "true")...)
		f := Finding{What: s.what, Says: s.says}
		if out, err := cmd.CombinedOutput(); err != nil {
			f = failure(s.what, said(string(out), fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))))
		}
		findings = append(findings, f)
	}
	return findings
}

// grace is how long a session may take to end after it was told to.
const grace = 5 * time.Second

// session returns a session as the caller's flags have it, but for args.
func session(ctx context.Context, o *Options, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", o.Args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // it has to put things away
	cmd.WaitDelay = grace
	cmd.Args[0] = "art"
	cmd.Args = append(cmd.Args, "--quiet", "--interactive=false")
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
