package filetree

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
)

var guest = fs.Caller{UID: 1000, GID: 1000}

// session is both sides of one, over a database that may be used again.
type session struct {
	*Tree
	t       *testing.T
	host    *files.Host
	overlay *fs.Overlay
	logged  []string
}

func begin(t *testing.T, store *sqlvfs.Store, list []files.HostFile, own []files.File, places ...files.Place) *session {
	t.Helper()
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	host, err := files.Open(list)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	host.Serve(ours)
	s := &session{t: t, host: host, overlay: overlay}
	s.Tree, err = Begin(overlay, guest, places, own, theirs, func(format string, args ...any) { s.logged = append(s.logged, format) })
	if err != nil {
		t.Fatal(err)
	}
	s.Connect(noCache{})
	return s
}

// end ends the session, and returns what the host's side has to tell.
func (s *session) end() string {
	s.End()
	unix.Shutdown(int(s.sock.Fd()), unix.SHUT_RDWR)
	var texts []string
	for _, err := range s.host.Told() {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "\n")
}

func open(t *testing.T, path string) *sqlvfs.Store {
	t.Helper()
	store, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// cat returns what the guest reads, or "none".
func (s *session) cat(name string) string {
	s.t.Helper()
	_, e, done, err := s.walk(name)
	defer done()
	if err != nil {
		s.t.Fatal(err)
	}
	if e.Ino == 0 {
		return "none"
	}
	data, err := s.read(e.Ino)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// replace does what programs do to write a file: the new one takes the name of the old one.
func (s *session) replace(name, text string) {
	s.t.Helper()
	parent, _, done, err := s.walk(name)
	defer done()
	if err == nil {
		var e fs.Entry
		if e, err = s.Mknod(guest, parent, "temporary", unix.S_IFREG|0o600, 0); err == nil {
			defer s.Forget(e.Ino, 1)
			err = s.Write(guest, e.Ino, []byte(text), 0)
		}
	}
	if err == nil {
		err = s.Rename(guest, parent, "temporary", parent, filepath.Base(name), 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) unlink(name string) {
	s.t.Helper()
	parent, _, done, err := s.walk(name)
	defer done()
	if err == nil {
		err = s.Unlink(guest, parent, filepath.Base(name))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, path, want string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && string(data) == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %q, %v, want %q", path, data, err, want)
		}
	}
}

// The tree is empty before and after, and in between it follows the host as the host does it.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "host")
	store := open(t, filepath.Join(t.TempDir(), "db"))
	list, own := []files.HostFile{{Path: path, Writes: true}}, []files.File{{Path: "a/b/file"}}
	s := begin(t, store, list, own, files.Place{Path: "mnt/dir", Directory: true}, files.Place{Path: "mnt/point"})
	if got := s.cat("a/b/file") + s.cat("mnt/point"); got != "host" {
		t.Errorf("the guest has %q", got)
	}
	s.replace("a/b/file", "guest")
	is(t, path, "guest")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	write(t, filepath.Join(dir, "new"), "again")
	if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); s.cat("a/b/file") != "again"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the guest does not see what the host writes")
		}
	}
	s.replace("a/b/file", "last") // just before the end
	if told := s.end(); told != "" {
		t.Error(told)
	}
	is(t, path, "last")
	if err := s.overlay.ReadDir(fs.RootIno, 0, false, func(e fs.DirEntry) bool {
		if e.Name != "." && e.Name != ".." {
			t.Errorf("%s is left", e.Name)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); names != nil {
		t.Errorf("the host has %q", names)
	}
}

// What the guest makes of an overlay stays in the tree, and the host's does not change.
func TestOverlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "host")
	store := open(t, filepath.Join(t.TempDir(), "db"))
	list, own := []files.HostFile{{Path: path}}, []files.File{{Path: "file", Overlay: true}}
	s := begin(t, store, list, own)
	if told := s.end(); told != "" || s.cat("file") != "none" {
		t.Errorf("unchanged it is left: %s", told)
	}
	s = begin(t, store, list, own)
	s.replace("file", "guest")
	if told := s.end(); told != "" {
		t.Error(told)
	}
	write(t, path, "host again")
	s = begin(t, store, list, own)
	if got := s.cat("file"); got != "guest" {
		t.Errorf("the guest has %q", got)
	}
	s.unlink("file")
	if told := s.end(); told != "" {
		t.Error(told)
	}
	is(t, path, "host again")
}

// What was in the tree under the name of a file is not lost, and does not reach the host.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "host")
	store := open(t, filepath.Join(t.TempDir(), "db"))
	own := []files.File{{Path: "d/file"}}
	for i, name := range []string{"d/file.art", "d/file.art1"} {
		s := begin(t, store, nil, nil, files.Place{Path: "d", Directory: true})
		s.replace("d/file", name)
		s.End()
		s = begin(t, store, []files.HostFile{{Path: path, Writes: true}}, own)
		if got := s.cat(name); got != name || s.cat("d/file") != "host" || len(s.logged) != 1 {
			t.Errorf("%d: %q, logged %q", i, got, s.logged)
		}
		if told := s.end(); told != "" {
			t.Error(told)
		}
	}
	is(t, path, "host")
}

// Where the host's cannot be replaced it is written in place; what it does not take stays in the tree.
func TestHost(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	write(t, path, "the host's")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	store := open(t, filepath.Join(t.TempDir(), "db"))
	list, own := []files.HostFile{{Path: path, Writes: true}}, []files.File{{Path: "file"}}
	s := begin(t, store, list, own)
	s.replace("file", "guest")
	if told := s.end(); told != "" {
		t.Error(told)
	}
	is(t, other, "guest")

	for name, spoil := range map[string]func(*session){
		"no such file": func(*session) { os.Remove(path) },
		"not a regular file": func(*session) {
			os.Remove(path)
			os.Symlink(other, path)
		},
		"the guest removed its": func(s *session) { s.unlink("file") },
	} {
		os.Remove(path)
		write(t, path, "host")
		s = begin(t, store, list, own)
		spoil(s)
		if s.cat("file") != "none" {
			s.replace("file", "lost?")
		}
		if told := s.end(); !strings.Contains(told, name) || strings.Count(told, "\n") != 0 {
			t.Errorf("%s: told %q", name, told)
		}
		if e, err := s.find("file"); err != nil || e.ino != 0 && s.cat("file") != "lost?" {
			t.Errorf("%s: the tree has %v, %v", name, e, err)
		} else if e.ino != 0 {
			s.unlink("file")
		}
	}
	is(t, other, "guest")
}

// What is written while the last write is on its way to the host is not forgotten at the end.
func TestLastWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for i := range 25 {
		write(t, path, "host")
		store := open(t, filepath.Join(t.TempDir(), "db"))
		s := begin(t, store, []files.HostFile{{Path: path, Writes: true}}, []files.File{{Path: "file"}})
		s.replace("file", "first")
		time.Sleep(files.Quiet + time.Duration(i/5)*time.Millisecond)
		s.replace("file", "last")
		if told := s.end(); told != "" {
			t.Error(told)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "last" {
			t.Errorf("the host has %q, %v", data, err)
		}
		if got := s.cat("file"); got != "none" {
			t.Errorf("%q is left", got)
		}
	}
}

// What a server that was killed has left of the host's is not taken for the guest's.
func TestKilled(t *testing.T) {
	for _, overlay := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "host")
		store := open(t, filepath.Join(t.TempDir(), "db"))
		list, own := []files.HostFile{{Path: path, Writes: !overlay}}, []files.File{{Path: "file", Overlay: overlay}}
		kill := func(s *session) {
			close(s.stop)
			<-s.ended
			unix.Shutdown(int(s.sock.Fd()), unix.SHUT_RDWR)
			s.host.Told()
		}
		kill(begin(t, store, list, own))
		write(t, path, "newer")
		s := begin(t, store, list, own)
		if got := s.cat("file") + s.cat("file.art"); got != "newernone" {
			t.Errorf("overlay %v: the guest has %q", overlay, got)
		}
		if told := s.end(); told != "" || s.cat("file") != "none" {
			t.Errorf("overlay %v: told %q", overlay, told)
		}
		// What the guest has written in place is its own.
		s = begin(t, store, list, own)
		_, e, done, err := s.walk("file")
		if err == nil {
			err = s.FileSystem.Write(guest, e.Ino, []byte("guest"), 0)
		}
		done()
		if err != nil {
			t.Fatal(err)
		}
		kill(s)
		write(t, path, "newest")
		s = begin(t, store, list, own)
		if got, want := s.cat("file")+s.cat("file.art"), map[bool]string{false: "newestguest", true: "guestnone"}[overlay]; got != want {
			t.Errorf("overlay %v: the guest has %q, want %q", overlay, got, want)
		}
		s.end()
	}
}

// What a guest has put in the way of a file does not keep the next session from starting.
func TestInTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "host")
	store := open(t, filepath.Join(t.TempDir(), "db"))
	s := begin(t, store, nil, nil)
	names := []string{fmt.Sprintf(".art-%x", sha256.Sum256([]byte("file"))), "file", "file.art"}
	for n := range 100 {
		names = append(names, fmt.Sprint("file.art", n))
	}
	for _, name := range names {
		e, err := s.Mkdir(guest, fs.RootIno, name, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		s.Forget(e.Ino, 1)
	}
	s.End()
	s = begin(t, store, []files.HostFile{{Path: path, Writes: true}}, []files.File{{Path: "file"}})
	if got := s.cat("file"); got != "host" {
		t.Errorf("the guest has %q", got)
	}
	s.end()
}

// A file whose content the guest has not changed is the same one afterwards; one with several names too.
func TestHostStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	inode := func() uint64 {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	write(t, path, "host")
	before := inode()
	store := open(t, filepath.Join(t.TempDir(), "db"))
	s := begin(t, store, []files.HostFile{{Path: path, Writes: true}}, []files.File{{Path: "file"}})
	s.replace("file", "host")
	if told := s.end(); told != "" || inode() != before {
		t.Errorf("the host's is another file; told %q", told)
	}
	s = begin(t, store, []files.HostFile{{Path: path, Writes: true}}, []files.File{{Path: "file"}})
	s.unlink("file")
	parent, _, done, _ := s.walk("file")
	if _, err := s.Mknod(guest, parent, "file", unix.S_IFIFO|0o600, 0); err != nil {
		t.Fatal(err)
	}
	done()
	if told := s.end(); !strings.Contains(told, "something else") {
		t.Errorf("told %q", told)
	}
}
