package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// xattrs returns all extended attributes of a file as text.
func xattrs(t *testing.T, path string) string {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	all, err := hostfs.Xattrs(fd, func(name string) bool { return !strings.HasPrefix(name, "security.selinux") })
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for name, value := range all {
		list = append(list, fmt.Sprintf("%s=%s", name, value))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// setXattr sets an attribute in a process of its own: one that nobody answers would never end, and
// a test with it.
func setXattr(t *testing.T, path, name, value string) error {
	t.Helper()
	cmd := helper("setxattr", path, name, value)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return errors.New(strings.TrimSpace(said.String()))
		}
		return nil
	case <-time.After(10 * time.Second):
		t.Fatalf("setxattr %s hangs", name)
	}
	return nil
}

// The base's attributes are seen, changed and removed without changing the base, and stay what they
// are across copy-up, rename and remount.
func TestExtendedAttributes(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "d/f", []byte("content"))
	m.plant(t, "plain", nil)
	base := m.base + "/d/f"
	m.must(t, unix.Setxattr(base, "user.one", []byte("1"), 0))
	m.must(t, unix.Setxattr(base, "user.two", []byte("2"), 0))
	m.must(t, unix.Setxattr(m.base+"/d", "user.dir", []byte("d"), 0))
	path := m.at("ws/d/f")
	expect := func(want string) {
		t.Helper()
		if got := xattrs(t, path); got != want {
			t.Errorf("attributes are %q, want %q", got, want)
		}
	}
	expect("user.one=1 user.two=2")
	m.must(t, os.Chmod(path, 0o640))
	expect("user.one=1 user.two=2")
	m.must(t, unix.Setxattr(path, "user.two", []byte("zwei"), unix.XATTR_REPLACE))
	m.must(t, unix.Removexattr(path, "user.one"))
	m.must(t, unix.Setxattr(path, "user.empty", nil, unix.XATTR_CREATE))
	expect("user.empty= user.two=zwei")
	for _, e := range []struct {
		err, want error
	}{
		{unix.Setxattr(path, "user.two", nil, unix.XATTR_CREATE), syscall.EEXIST},
		{unix.Setxattr(path, "user.none", nil, unix.XATTR_REPLACE), syscall.ENODATA},
		{unix.Removexattr(path, "user.none"), syscall.ENODATA},
		{unix.Setxattr(path, "user.big", make([]byte, sqlvfs.XattrSizeMax+1), 0), syscall.E2BIG},
		{unix.Setxattr(path, "security.other", []byte("x"), 0), syscall.EOPNOTSUPP},
		{unix.Setxattr(path, "none", []byte("x"), 0), syscall.EOPNOTSUPP},
		{onlyError(unix.Getxattr(path, "user.two", make([]byte, 3))), syscall.ERANGE},
		{onlyError(unix.Getxattr(path, "user.none", nil)), syscall.ENODATA},
	} {
		if e.err != e.want {
			t.Errorf("got %v, want %v", e.err, e.want)
		}
	}
	m.must(t, unix.Setxattr(path, "user.big", noise[:sqlvfs.XattrSizeMax], 0))
	big := make([]byte, sqlvfs.XattrSizeMax)
	if n, err := unix.Getxattr(path, "user.big", big); err != nil || !bytes.Equal(big[:n], noise[:len(big)]) {
		t.Errorf("a big value comes back as %d bytes, %v", n, err)
	}
	m.must(t, unix.Removexattr(path, "user.big"))
	m.must(t, os.Rename(m.at("ws/d"), m.at("ws/e")))
	path = m.at("ws/e/f")
	m.remount(t)
	expect("user.empty= user.two=zwei")
	if got := xattrs(t, m.at("ws/e")); got != "user.dir=d" {
		t.Errorf("the directory has %q", got)
	}
	if got := xattrs(t, base); got != "user.one=1 user.two=2" {
		t.Errorf("the base now has %q", got)
	}
	m.must(t, os.Remove(path))
	m.must(t, os.WriteFile(path, nil, 0o644))
	expect("")
}

func onlyError(_ int, err error) error { return err }

// A write, a truncation and a change of owner take away what made a program run with more rights
// than its caller's, as on any file system.
func TestAsRootPrivilegesEndWithAChange(t *testing.T) {
	asRoot(t)
	m := newMounted(t)
	capabilities := "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" // cap_net_bind_service=ep
	for name, change := range map[string]func(path string) error{
		"write": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close())
		},
		"truncate": func(path string) error { return os.Truncate(path, 1) },
		"open":     func(path string) error { return os.WriteFile(path, nil, 0) },
		"chown":    func(path string) error { return os.Chown(path, 12, 34) },
	} {
		for _, where := range []string{"base", "delta"} {
			t.Run(name+" in "+where, func(t *testing.T) {
				path := m.at("ws/" + name + where)
				if where == "base" {
					m.plant(t, name+where, []byte("program"))
					m.must(t, unix.Setxattr(m.base+"/"+name+where, capability, []byte(capabilities), 0))
				} else {
					m.must(t, os.WriteFile(path, []byte("program"), 0o755))
					m.must(t, unix.Setxattr(path, capability, []byte(capabilities), 0))
				}
				if got := xattrs(t, path); !strings.HasPrefix(got, capability) {
					t.Fatalf("the file has %q", got)
				}
				m.must(t, change(path))
				if got := xattrs(t, path); got != "" {
					t.Errorf("the file still has %q", got)
				}
			})
		}
	}
}

// A name of one byte without a value, the shortest request of its kind, is answered as any other.
func TestShortestSetxattrIsAnswered(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "f", noise[:1<<20])
	stop := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.ReadFile(m.at("ws/f"))
			os.WriteFile(m.at("ws/g"), someBytes(i%1000, i), 0o644)
			m.sync()
		}
	}()
	for range 20 {
		if err := setXattr(t, m.at("ws/f"), "a", ""); err == nil || err.Error() != syscall.EOPNOTSUPP.Error() {
			t.Errorf("setxattr: %v", err)
		}
	}
	close(stop)
	m.reads(t, "ws/f", noise[:1<<20])
}
