package stage

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Where no network is made for the guest, no thread of the stage keeps the right over networks, and all keep the others. There is no
// way back, so another process tries.
func TestGiveUpNetwork(t *testing.T) {
	const text = "CapPrm:\t0000000000200002\n" // CAP_SYS_ADMIN and CAP_DAC_OVERRIDE
	if os.Getenv("STAGE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestGiveUpNetwork$", "-test.v")
		cmd.Env = append(os.Environ(), "STAGE=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread()
	if err := giveUpNetwork(); err != nil {
		t.Fatal(err)
	}
	pattern := "/proc/self/task/*/status"
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPPID, 0, 0, 0); errno == unix.ENOTSUP {
		pattern = "/proc/thread-self/status" // linked with C
	}
	threads, err := filepath.Glob(pattern)
	if err != nil || len(threads) == 0 {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{text, strings.Replace(text, "Prm", "Inh", 1), strings.Replace(text, "Prm", "Eff", 1), strings.Replace(text, "Prm", "Amb", 1)} {
			if !strings.Contains(string(status), want) {
				t.Errorf("%q is missing in\n%s", want, status)
			}
		}
	}
}
