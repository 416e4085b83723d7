package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestStart holds a session's start to a multiple of what a bare bwrap takes.
// The two are measured by turns, so that a busy machine slows both alike.
func TestStart(t *testing.T) {
	const runs, most = 21, 6
	dir := t.TempDir()
	db := filepath.Join(t.TempDir(), "ws.db")
	session := func() *exec.Cmd {
		return exec.Command("art", "-m", dir, "-d", db, "--", "true")
	}
	bare := func() *exec.Cmd {
		return exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
			"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true")
	}
	measure(t, session()) // creates the database
	var ours, theirs []time.Duration
	for range runs {
		theirs = append(theirs, measure(t, bare()))
		ours = append(ours, measure(t, session()))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	a, b := ours[runs/2], theirs[runs/2]
	t.Logf("median: art %v, bwrap %v: %.1f times", a, b, float64(a)/float64(b))
	if a > most*b {
		t.Errorf("a session starts in %v, a bare bwrap in %v: more than %d times as long", a, b, most)
	}
}

func measure(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return time.Since(begin)
}
