package doctor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// sessions runs one of each kind.
func sessions(o *Options) []Finding {
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
		cmd := session(o, nil, append(s.args, "--", "true")...)
		f := Finding{What: s.what, Says: s.says}
		if out, err := cmd.CombinedOutput(); err != nil {
			f = failure(s.what, said(string(out), fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))))
		}
		findings = append(findings, f)
	}
	return findings
}

// session returns a session as the caller's flags have it, but for args.
func session(o *Options, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", o.Args...)
	cmd.Args[0] = "art"
	cmd.Args = append(cmd.Args, "--quiet", "--interactive=false")
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
