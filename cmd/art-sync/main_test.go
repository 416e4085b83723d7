package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is art-sync when this variable is set.
const asProgram = "ART_SYNC_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		main()
	}
	os.Exit(m.Run())
}

func artSync(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, told bytes.Buffer
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &told
	cmd.Env = append([]string{asProgram + "=1"}, env...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), told.String()
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		what           string
		env, args      []string
		code           int
		stdout, stderr string // must be part of it; "" for nothing at all
	}{
		{what: "push", args: []string{"push", "--mount", "ws", "--db", "a.db"}, stdout: "FILE /ws/x (1 bytes, ino 3)\n", stderr: "1 file written\n"},
		{what: "short", args: []string{"push", "-m", "ws", "-d", "a.db"}, stdout: "FILE /ws/x", stderr: "1 file written\n"},
		{what: "workspace", args: []string{"push", "--workspace=ws/", "-d=a.db"}, stdout: "FILE /ws/x", stderr: "1 file written\n"},
		{what: "environment", env: []string{"ART_DB=a.db", "ART_MOUNT=ws"}, args: []string{"push"}, stdout: "FILE /ws/x", stderr: "1 file written\n"},
		{what: "a short flag outdoes the environment", env: []string{"ART_DB=none/b.db", "ART_MOUNT=none"},
			args: []string{"push", "-d", "a.db", "-m", "ws"}, stdout: "FILE /ws/x", stderr: "1 file written\n"},
		{what: "quiet", args: []string{"push", "-m", "ws", "-d", "a.db", "-q"}},
		{what: "quiet by environment", env: []string{"ART_QUIET=true"}, args: []string{"push", "-m", "ws", "-d", "a.db"}},
		{what: "version", args: []string{"--version"}, stdout: "art-sync devel\n"},
		{what: "help", args: []string{"--help"}, stdout: "SYNOPSIS"},
		{what: "help of push", args: []string{"push", "-h"}, stdout: "art-sync push [flags]"},
		{what: "help of pull", args: []string{"pull", "--help"}, stdout: "art-sync pull [flags]"},
		{what: "help of diff", args: []string{"diff", "--help"}, stdout: "art-sync diff [flags]"},
		{what: "a flag of another command", args: []string{"push", "--keep-both", "-d", "a.db"}, code: 2, stderr: "keep-both"},
		{what: "two ways", args: []string{"pull", "--keep-both", "--force", "-d", "a.db"}, code: 2, stderr: "exclude each other"},
		{what: "diff of a missing database", args: []string{"diff", "-m", "ws", "-d", "b.db"}, code: 2, stderr: "art-sync: open b.db: no such file"},
		{what: "summary of a missing database", args: []string{"summary", "-m", "ws", "-d", "b.db"}, code: 1,
			stderr: "art-sync: compare the workspace with the host: open b.db: no such file"},
		{what: "no command", code: 2, stderr: "art-sync: read the command line: no command was given: diff, pull, push, reset, status, log, blame, timeline, net, checkpoint, undo, redo, rewind, fork, merge, compare, gc, list or rm\nart-sync: hint: see art-sync --help\n"},
		{what: "wrong command", args: []string{"pus"}, code: 2, stderr: `there is no command "pus"`},
		{what: "wrong flag", args: []string{"push", "--nope"}, code: 2, stderr: "hint: see art-sync push --help"},
		{what: "wrong value", env: []string{"ART_QUIET=maybe"}, args: []string{"push", "-d", "a.db"}, code: 2, stderr: "ART_QUIET"},
		{what: "path", args: []string{"push", "-d", "a.db", "ws/x"}, stdout: "/ws/x (1 bytes, ino 2)\n", stderr: "written"},
		{what: "unknown path", args: []string{"push", "-d", "a.db", "y"}, code: 2, stderr: "y: neither the workspace nor the guest has"},
		{what: "no database", args: []string{"pull"}, code: 2, stderr: "art-sync: read the command line: no database was given (--db)\n"},
		{what: "missing workspace", args: []string{"push", "-m", "none", "-d", "a.db"}, code: 1, stderr: "none: no such file or directory\nart-sync: hint: "},
		{what: "missing database", args: []string{"pull", "-m", "ws", "-d", "b.db"}, code: 1, stderr: "art-sync: open b.db: no such file or directory\n"},
		{what: "other version", env: []string{"ART_CALLER_VERSION=v0"}, args: []string{"push"}, code: 1, stderr: "art-sync: start: art-sync is version devel, its caller is version v0"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "ws/x"), []byte("1"), 0o644); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := artSync(t, dir, c.env, c.args...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) ||
				c.stdout == "" && stdout != "" || c.stderr == "" && stderr != "" {
				t.Errorf("exit %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
			}
		})
	}
}
