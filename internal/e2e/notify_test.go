package e2e

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/notify/desktop/fakebus"
)

// At the desktop, a session shows what becomes of it.
func TestNotifiesTheDesktop(t *testing.T) {
	address, shown := fakebus.Start(t, false)
	cmd := exec.Command("art", "--notify", "-m", t.TempDir(), "--name", "ws", "--", "sh", "-c", "exit 3")
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS="+address, "HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case got := <-shown:
		if len(got) != 3 || !slices.Equal(got[2:], []string{"ended with exit code 3"}) {
			t.Errorf("it shows %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing is shown")
	}
}
