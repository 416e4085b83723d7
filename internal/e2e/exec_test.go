package e2e

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/e2e/screen"
)

// TestExecTerminal uses a program that has joined a session as one uses the first: its size, its keys, and as a job that is
// stopped and continued.
func TestExecTerminal(t *testing.T) {
	ws := faceWorkspace(t)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	first := exec.Command("art", "-q", "-i=false", "-m", ws, "--", "sleep", "1000")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer first.Process.Signal(unix.SIGTERM)
	joins := func() bool {
		join := exec.Command("art", "exec", "true")
		join.Dir = ws
		return join.Run() == nil
	}
	if !poll(time.Minute, joins) {
		t.Fatal("no session runs")
	}
	s := screen.JobShell(t, "", nil)
	s.Enter("cd " + ws + "; art exec -- python3 face.py 1")
	s.Shows("begun 24x80")
	s.Keys("\x1a")
	s.Shows("Stopped")
	s.Prompt()
	s.Resize(30, 100)
	s.Enter("fg")
	s.Shows("continued 30x100")
	s.Keys("x")
	s.Shows("key b'x'")
	s.Keys("q")
	s.Enter("echo so it ga''ve $?")
	s.Shows("\nso it gave 7")

	// A shell has job control of its own there.
	s.Enter("art exec -- bash --norc")
	s.Shows("bash-")
	s.Keys("sleep 1000\r")
	waitForeground(t, first.Process.Pid, "sleep")
	s.Keys("\x03")
	s.Keys("echo interrup''ted $?; exit 5\r")
	s.Shows("\ninterrupted 130")
	s.Enter("echo and it ga''ve $?")
	s.Shows("\nand it gave 5")
}
