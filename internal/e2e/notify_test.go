package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/fakebus"
)

// At the desktop, a session shows what becomes of it.
func TestNotifiesTheDesktop(t *testing.T) {
	bus := fakebus.Start(t)
	cmd := exec.Command("art", "--notify", "-m", t.TempDir(), "--name", "ws", "--", "sh", "-c", "exit 3")
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+bus.Address, "HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case got := <-bus.Shown:
		if len(got) != 3 || !slices.Equal(got[2:], []string{"ended with exit code 3"}) {
			t.Errorf("it shows %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing is shown")
	}
}

// A session in the background is in the scope that it has asked for before its command begins.
func TestIsAUnit(t *testing.T) {
	bus := fakebus.Start(t)
	home := t.TempDir()
	cmd := exec.Command("art", "run", "-b", "-q", "-i=false", "--systemd", "-m", t.TempDir(), "--", "true")
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+bus.Address, "DBUS_SYSTEM_BUS_ADDRESS="+bus.Address, "HOME="+home, "XDG_RUNTIME_DIR="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case got := <-bus.Units:
		pid := strings.TrimSuffix(strings.TrimPrefix(got[0], "art-"), ".scope")
		if got[1] != "fail" || !strings.Contains(got[2], "[PIDs @au ["+pid+"]]") {
			t.Errorf("it has asked for %q", got)
		}
	default:
		t.Error("it has asked for none")
	}
	if !poll(5*time.Second, func() bool { left, err := filepath.Glob(home + "/art/*"); return err == nil && len(left) == 0 }) {
		t.Error("it has not ended")
	}
}
