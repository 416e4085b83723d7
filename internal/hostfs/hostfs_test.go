package hostfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func dir(t *testing.T) (string, *os.File) {
	t.Helper()
	path := t.TempDir()
	d, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return path, d
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// No link is followed, and no path leads out of the directory.
func TestOpenStaysBelow(t *testing.T) {
	path, d := dir(t)
	for _, sub := range []string{"sub", "sub/below"} {
		if err := os.Mkdir(filepath.Join(path, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(path, "sub/file"), "x")
	for name, target := range map[string]string{"link": "sub", "out": "/etc", "magic": "/proc/self/cwd"} {
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	for rel, want := range map[string]error{
		"sub/file": nil, "sub/below/../file": nil, "link/file": unix.ELOOP, "link": unix.ELOOP, "out/passwd": unix.ELOOP,
		"magic/x": unix.ELOOP, "../" + filepath.Base(path): unix.EXDEV, "/etc/passwd": unix.EXDEV, "none": unix.ENOENT,
	} {
		f, err := Open(d, rel, unix.O_RDONLY)
		if err == nil {
			f.Close()
		}
		if err != want {
			t.Errorf("%s: %v, not %v", rel, err, want)
		}
	}
	if fd, err := OpenAt(int(d.Fd()), "/sub/../../sub/file", unix.O_PATH, InRoot); err != nil {
		t.Error(err)
	} else {
		unix.Close(fd)
	}
	if f, err := Open(d, "link", unix.O_PATH); err != nil {
		t.Error(err)
	} else if st, err := Stat(f); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Errorf("%o, %v", st.Mode, err)
	}
}

// Who has a lease on a file is waited for.
func TestOpenAwaitsALease(t *testing.T) {
	path, d := dir(t)
	write(t, filepath.Join(path, "file"), "x")
	holder, err := os.OpenFile(filepath.Join(path, "file"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatalf("the file system of %s has no leases, set TMPDIR to one that has: %v", path, err)
	}
	const held = 50 * time.Millisecond
	begin := time.Now()
	released := make(chan struct{})
	go func() {
		defer close(released)
		time.Sleep(held)
		unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}()
	f, err := Open(d, "file", unix.O_RDONLY|unix.O_NONBLOCK)
	<-released
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if took := time.Since(begin); took < held {
		t.Errorf("it was open after %v", took)
	}
}

func TestXattrs(t *testing.T) {
	path, d := dir(t)
	write(t, filepath.Join(path, "file"), "x")
	long := string(make([]byte, 3000))
	for name, value := range map[string]string{"user.a": "1", "user.long": long, "user.not": "2"} {
		if err := unix.Setxattr(filepath.Join(path, "file"), name, []byte(value), 0); err != nil {
			t.Fatalf("the file system of %s has no extended attributes, set TMPDIR to one that has: %v", path, err)
		}
	}
	for _, flags := range []int{unix.O_RDONLY, unix.O_PATH} {
		f, err := Open(d, "file", flags)
		if err != nil {
			t.Fatal(err)
		}
		all, err := Xattrs(int(f.Fd()), func(name string) bool { return name == "user.a" || name == "user.long" })
		f.Close()
		if err != nil || len(all) != 2 || string(all["user.a"]) != "1" || string(all["user.long"]) != long {
			t.Errorf("%v, %v", all, err)
		}
	}
}
