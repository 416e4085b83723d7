package stage

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What is removed after it was opened needs no cover, and what comes in its place gets one.
func TestCoverReplaced(t *testing.T) {
	const variable = "ART_TEST_MOUNTS"
	if os.Getenv(variable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCoverReplaced$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	path, empty := filepath.Join(dir, "file"), filepath.Join(dir, "empty")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(empty, "")
	h := &handles{}
	open := func() (int, error) { return openPath(path) }
	var err error
	if h.emptyFile, err = openPath(empty); err != nil {
		t.Fatal(err)
	}
	for _, then := range []string{"", "replaced", "written"} {
		write(path, "secret")
		fd, err := open()
		if err != nil {
			t.Fatal(err)
		}
		switch then {
		case "":
			os.Remove(path)
		case "replaced":
			write(path+"2", "secret")
			if err := os.Rename(path+"2", path); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.coverOpen(fd, open); err != nil {
			t.Errorf("%s: %v", then, err)
		}
		if text, err := os.ReadFile(path); len(text) > 0 || (err == nil) == (then == "") {
			t.Errorf("%s: there is %q, %v", then, text, err)
		}
		unix.Unmount(path, unix.MNT_DETACH)
	}
}
