package confine

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What copies a database keeps the network, and its directories, and loses other files and programs. There is no way back, so another
// process tries.
func TestReplicate(t *testing.T) {
	if os.Getenv("CONFINED") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestReplicate$", "-test.v")
		cmd.Env = append(os.Environ(), "CONFINED="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	own, other := filepath.Join(os.Getenv("CONFINED"), "own"), filepath.Join(os.Getenv("CONFINED"), "other")
	for _, dir := range []string{own, other} {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "f"), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	credentials := filepath.Join(other, "f")
	if err := Replicate([]string{own}, []string{credentials, filepath.Join(other, "missing")}); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err != nil {
		t.Errorf("connect: %v", err)
	} else {
		conn.Close()
	}
	if err := os.WriteFile(filepath.Join(own, "g"), []byte("x"), 0o600); err != nil {
		t.Errorf("write: %v", err)
	}
	if err := os.Remove(filepath.Join(own, "g")); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := os.ReadFile(credentials); err != nil {
		t.Errorf("read credentials: %v", err)
	}
	if err := exec.Command("/bin/true").Run(); err == nil {
		t.Error("another program runs")
	}
	// Where the kernel has no Landlock, files stay.
	if v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 && v > 0 {
		if err := os.WriteFile(credentials, nil, 0o600); !errors.Is(err, unix.EACCES) {
			t.Errorf("write credentials: %v", err)
		}
		if _, err := os.ReadDir(other); !errors.Is(err, unix.EACCES) {
			t.Errorf("read another directory: %v", err)
		}
	}
}
