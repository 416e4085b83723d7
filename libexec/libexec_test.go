package libexec

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/version"
)

func TestFind(t *testing.T) {
	first, last := t.TempDir(), t.TempDir()
	t.Setenv(dirVariable, first)
	defer func(old string) { Dir = old }(Dir)
	Dir = last
	helper := func(dir string, mode os.FileMode) string {
		path := filepath.Join(dir, "helper")
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}

	_, err := Find("helper")
	var hinted cli.Hinted
	if !errors.As(err, &hinted) || !strings.Contains(err.Error(), last) {
		t.Errorf("a missing helper: %v, without a hint or the directories", err)
	}
	want := helper(last, 0o755)
	if got, err := Find("helper"); err != nil || got != want {
		t.Errorf("found %q, %v in the build's directory, want %q", got, err, want)
	}
	want = helper(first, 0o755)
	if got, err := Find("helper"); err != nil || got != want {
		t.Errorf("found %q, %v in $%s, want %q", got, err, dirVariable, want)
	}
	if err := os.Chmod(want, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := Find("helper"); err == nil {
		t.Errorf("a helper that is not executable was passed over for %q", got)
	}
}

func TestCheckCaller(t *testing.T) {
	if err := CheckCaller("helper"); err != nil {
		t.Errorf("started by nobody of ours: %v", err)
	}
	t.Setenv(CallerVariable, version.Version)
	if err := CheckCaller("helper"); err != nil {
		t.Errorf("started by the same version: %v", err)
	}
	if _, ok := os.LookupEnv(CallerVariable); ok {
		t.Error("the caller's version stays in the environment")
	}
	t.Setenv(CallerVariable, "v0.0.1")
	err := CheckCaller("helper")
	if err == nil {
		t.Fatal("started by another version without an error")
	}
	for _, part := range []string{"helper", "v0.0.1", version.Version} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}

func TestCommandTellsVersionOnce(t *testing.T) {
	t.Setenv(CallerVariable, "of our own caller")
	n := 0
	for _, kv := range Environ() {
		if strings.HasPrefix(kv, CallerVariable+"=") {
			n++
			if kv != CallerVariable+"="+version.Version {
				t.Errorf("the helper is told %q", kv)
			}
		}
	}
	if n != 1 {
		t.Errorf("the helper is told %d versions", n)
	}
}

func TestDescriptorPassing(t *testing.T) {
	a, b, err := Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := SendFD(a, int(f.Fd()), []byte("with")); err != nil {
		t.Fatal(err)
	}
	if err := SendFD(a, -1, []byte("without")); err != nil {
		t.Fatal(err)
	}
	a.Close()

	fd, msg, err := RecvFD(b)
	if err != nil || string(msg) != "with" {
		t.Fatalf("received %q, %v", msg, err)
	}
	got := os.NewFile(uintptr(fd), "received")
	defer got.Close()
	sent, _ := f.Stat()
	if received, err := got.Stat(); err != nil || !os.SameFile(sent, received) {
		t.Errorf("another file was received: %v", err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the received descriptor stays open in what is executed: %#x, %v", flags, err)
	}
	if fd, msg, err := RecvFD(b); err != nil || fd != -1 || string(msg) != "without" {
		t.Errorf("received %d, %q, %v", fd, msg, err)
	}
	if _, _, err := RecvFD(b); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the other side: %v", err)
	}
}

func TestRecvFromKnowsTheSender(t *testing.T) {
	a, b, err := Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	if err := unix.SetsockoptInt(int(b.Fd()), unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		t.Fatal(err)
	}
	if err := SendFD(a, int(a.Fd()), []byte("x")); err != nil {
		t.Fatal(err)
	}
	fd, _, sender, err := RecvFrom(b)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if sender == nil || int(sender.Pid) != os.Getpid() {
		t.Errorf("the sender is %+v, want process %d", sender, os.Getpid())
	}
}
