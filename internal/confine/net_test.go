package confine

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// What carries connections for a guest keeps the network, and loses files, programs and rights. There is no way back, so another
// process tries.
func TestNet(t *testing.T) {
	if os.Getenv("CONFINED") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestNet$", "-test.v")
		cmd.Env = append(os.Environ(), "CONFINED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := Net(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Errorf("connect: %v", err)
	} else {
		conn.Close()
	}
	if _, err := os.ReadFile("/etc/hosts"); err != nil {
		t.Errorf("read where names are: %v", err)
	}
	if err := exec.Command("/bin/true").Run(); err == nil {
		t.Error("another program runs")
	}
	if err := unix.Unshare(unix.CLONE_NEWUSER); !errors.Is(err, unix.EPERM) {
		t.Errorf("make a user namespace: %v", err)
	}
	// Where the kernel has no Landlock, files stay.
	if v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 && v > 0 {
		if _, err := os.ReadFile("/etc/passwd"); !errors.Is(err, unix.EACCES) {
			t.Errorf("read another file: %v", err)
		}
	}
}

// A name that no architecture has would refuse nothing.
func TestNotForNet(t *testing.T) {
	for _, name := range notForNet {
		if syscalls.Lookup(name) == nil {
			t.Errorf("there is no call named %q", name)
		}
	}
}
