package fs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
)

var longName = strings.Repeat("n", sqlvfs.NameMax)

// names are few, so that operations meet.
var names = []string{"a", "b", "c", "d", "\xff", longName}

// workspace is the base's name in the root of the overlay.
const workspace = "ws"

var steps = flag.Int("model.steps", 400, "average number of operations in each check of the model test")

// system is an overlay under test.
type system interface {
	tree
	// forget makes the kernel forget all inodes but those of open files.
	forget()
	// remount ends the session, proves that the database is sound, and begins another session.
	remount(t rapid.TB)
	// end stops whatever runs; the test may have failed before.
	end()
}

// model is an overlay, and a directory of the host to which the same things are done.
type model struct {
	got  system
	want directory

	open    []*handle
	shown   map[Ino]Ino // numbers that the overlay gave to the inodes of the directory
	paths   []string    // of all that there is, the root excepted
	dirs    []string    // of directories, the root included
	kind    map[string]uint32
	forgets bool  // the kernel keeps nothing from one step to the next
	began   int64 // seconds since 1970
	seed    int
	done    int // operations
	syncing sync.WaitGroup
}

// handle is a file that is open on both sides.
type handle struct {
	path      string // when it was opened
	got, want treeFile
}

// TestOverlayIsLikeADirectory does random things to an overlay and to a directory that began with
// the same content, and compares all there is to see after each.
func TestOverlayIsLikeADirectory(t *testing.T) {
	compareWithDirectory(t, *steps, func(rt *rapid.T, base, db string) system {
		s := &inProcess{base: base, db: db, merged: rapid.Bool().Draw(rt, "merged")}
		s.begin(rt)
		s.plus = rapid.Bool().Draw(rt, "plus")
		return s
	})
}

func compareWithDirectory(t *testing.T, steps int, begin func(t *rapid.T, base, db string) system) {
	flag.Set("rapid.steps", fmt.Sprint(steps))
	flag.Set("rapid.nofailfile", "true") // the seed, which is printed, brings a failure back
	top := t.TempDir()
	total, checks := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		base := filepath.Join(dir, "base")
		m := &model{
			want: directory(filepath.Join(dir, "real")), shown: map[Ino]Ino{}, began: time.Now().Unix(),
			forgets: rapid.Bool().Draw(rt, "forgets"),
		}
		objects := drawTree(rt)
		for _, o := range objects {
			rt.Logf("base: %+v", o)
		}
		for _, d := range []string{base, m.want.at(""), m.want.at(workspace)} {
			if err := os.Mkdir(d, 0o755); err != nil {
				rt.Fatal(err)
			}
		}
		for _, d := range []string{base, m.want.at(workspace)} {
			if err := plant(d, objects); err != nil {
				rt.Fatal(err)
			}
		}
		before := portrait(rt, base)
		m.got = begin(rt, base, filepath.Join(dir, "a.db"))
		defer m.close()
		rt.Repeat(map[string]func(*rapid.T){
			"":         m.compare,
			"open":     m.openFile,
			"open2":    m.openFile,
			"write":    m.write,
			"write2":   m.write,
			"append":   m.append,
			"pread":    m.pread,
			"holes":    m.holes,
			"copy":     m.copyRange,
			"truncate": m.truncate,
			"resize":   m.resize,
			"release":  m.release,
			"tmpfile":  m.tmpfile,
			"mkdir":    m.mkdir,
			"mkdir2":   m.mkdir,
			"mknod":    m.mknod,
			"symlink":  m.symlink,
			"link":     m.link,
			"unlink":   m.unlink,
			"unlink2":  m.unlink,
			"rmdir":    m.rmdir,
			"empty":    m.removeAll,
			"rename":   m.rename,
			"rename2":  m.rename,
			"exchange": m.renameWith,
			"chmod":    m.chmod,
			"chown":    m.chown,
			"utimes":   m.utimes,
			"readdir":  m.readdir,
			"content":  m.content,
			"sync":     m.sync,
			"forget":   m.forget,
			"remount":  m.remount,
		})
		m.remount(rt)
		if s, ok := m.got.(*inProcess); ok {
			steps := rapid.IntRange(0, 30).Draw(rt, "flattened before the interruption")
			s.flatten(rt, steps, func() { m.shown = nil; m.compareAll(rt) })
		}
		if after := portrait(rt, base); after != before {
			rt.Errorf("the base has changed:\n%s\nit was:\n%s", after, before)
		}
		total += m.done
		checks++
	})
	t.Logf("%d operations in %d checks", total, checks)
}

// close ends a check, also one that has failed in the middle of something.
func (m *model) close() {
	m.syncing.Wait()
	for _, h := range m.open {
		h.want.Release()
		h.got.Release()
	}
	m.got.end()
}

// say notes an operation.
func (m *model) say(t *rapid.T, format string, args ...any) {
	m.done++
	t.Log(strings.ReplaceAll(fmt.Sprintf(format, args...), longName, "LONG"))
}

// same fails unless both sides ended an operation in the same way, and tells whether that is well.
func (m *model) same(t *rapid.T, got, want error, format string, args ...any) bool {
	what := fmt.Sprintf(format, args...)
	m.say(t, "%s: %v", what, want)
	if got != want {
		t.Fatalf("%s: %v, on the host %v", what, got, want)
	}
	return want == nil
}

// goes prepares for the end of what a path names: the host may use its number again.
func (m *model) goes(path string) {
	if e, err := m.want.lstat(path); err == nil && (e.Attr.Nlink == 1 || e.Attr.IsDir()) {
		delete(m.shown, e.Ino)
	}
}

// old draws the path of something that exists, or at least could.
func (m *model) old(t *rapid.T) string {
	if len(m.paths) == 0 || rapid.IntRange(0, 19).Draw(t, "stray") == 0 {
		return m.fresh(t)
	}
	return pick(t, m.paths, "path")
}

// fresh draws the path of something that may or may not exist, in a directory that does.
func (m *model) fresh(t *rapid.T) string {
	dir := pick(t, m.dirs, "dir")
	if strings.Count(dir, "/") > 3 {
		dir = ""
	}
	return strings.TrimPrefix(dir+"/"+pick(t, names, "name"), "/")
}

// compareAll looks at everything, also the content of files.
func (m *model) compareAll(t *rapid.T) {
	m.compare(t)
	for _, path := range m.paths {
		if m.kind[path] == syscall.S_IFREG {
			m.sameFile(t, path, 1<<20)
		}
	}
}

// compare looks at everything but the content of files, on both sides.
func (m *model) compare(t *rapid.T) {
	before := m.shown
	m.paths, m.dirs, m.kind, m.shown = nil, nil, map[string]uint32{}, map[Ino]Ino{}
	taken := map[Ino]Ino{}
	see := func(path string, got, want Entry) {
		m.sameAttributes(t, path, got, want)
		if was, ok := before[want.Ino]; ok && was != got.Ino {
			t.Fatalf("%q was inode %d, now it is %d", path, was, got.Ino)
		}
		if twin, ok := taken[got.Ino]; ok && twin != want.Ino {
			t.Fatalf("%q has the number %d, as another file has", path, got.Ino)
		}
		if was, ok := m.shown[want.Ino]; ok && was != got.Ino {
			t.Fatalf("%q is inode %d, but by another name %d", path, got.Ino, was)
		}
		m.shown[want.Ino], taken[got.Ino] = got.Ino, want.Ino
	}
	root, err := m.got.lstat("")
	if err != nil {
		t.Fatal(err)
	}
	m.compareDir(t, "", root, see)
	for _, h := range m.open {
		want, err := h.want.stat()
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.got.stat()
		if err != nil {
			t.Fatalf("fstat %q: %v", h.path, err)
		}
		see(h.path, got, want)
	}
	if m.forgets {
		m.got.forget()
	}
}

func (m *model) compareDir(t *rapid.T, dir string, self Entry, see func(path string, got, want Entry)) {
	stat, err := m.want.lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	see(dir, self, stat)
	m.dirs = append(m.dirs, dir)
	want, err := os.ReadDir(m.want.at(dir))
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.got.readdir(dir, 1000, func([]DirEntry) {})
	if err != nil {
		t.Fatalf("readdir %q: %v", dir, err)
	}
	list = slices.DeleteFunc(list, func(e DirEntry) bool { return e.Name == "." || e.Name == ".." })
	slices.SortFunc(list, func(a, b DirEntry) int { return strings.Compare(a.Name, b.Name) })
	for i := range max(len(list), len(want)) {
		switch {
		case i >= len(list) || i < len(want) && want[i].Name() < list[i].Name:
			t.Fatalf("readdir %q: %q is missing", dir, want[i].Name())
		case i >= len(want) || want[i].Name() > list[i].Name:
			t.Fatalf("readdir %q: %q is too much", dir, list[i].Name)
		}
		path := strings.TrimPrefix(dir+"/"+list[i].Name, "/")
		e := list[i].Entry
		if e.Ino == 0 {
			if e, err = m.got.lstat(path); err != nil {
				t.Fatalf("lstat %q: %v", path, err)
			}
		}
		kind := e.Attr.Mode & syscall.S_IFMT
		if list[i].Ino != e.Ino || list[i].Mode&syscall.S_IFMT != kind {
			t.Fatalf("%q is listed as inode %d of type %#o, but is %d, %#o", path, list[i].Ino, list[i].Mode, e.Ino, e.Attr.Mode)
		}
		m.paths = append(m.paths, path)
		m.kind[path] = kind
		if kind == syscall.S_IFDIR {
			m.compareDir(t, path, e, see)
			continue
		}
		stat, err := m.want.lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		see(path, e, stat)
		if kind == syscall.S_IFLNK {
			want, _ := m.want.readlink(path)
			if got, err := m.got.readlink(path); err != nil || got != want {
				t.Fatalf("readlink %q: %q, %v, on the host %q", path, got, err, want)
			}
		}
	}
}

func (m *model) sameAttributes(t *rapid.T, path string, got, want Entry) {
	a, b := got.Attr, want.Attr
	if a.Mode != b.Mode || a.Nlink != b.Nlink || a.UID != b.UID || a.GID != b.GID || !a.IsDir() && a.Size != b.Size {
		t.Fatalf("%q (inode %d) has mode %o, %d links, owner %d:%d, size %d;\non the host mode %o, %d links, owner %d:%d, size %d",
			path, got.Ino, a.Mode, a.Nlink, a.UID, a.GID, a.Size, b.Mode, b.Nlink, b.UID, b.GID, b.Size)
	}
	// A time that was set must be exact; one that the clock gave is from the test's own time.
	if set := b.Mtime.Sec < m.began-1 || b.Mtime.Sec > m.began+1<<20; set && a.Mtime != b.Mtime || !set && a.Mtime.Sec < m.began-1 {
		t.Fatalf("%q (inode %d) has mtime %v, on the host %v", path, got.Ino, a.Mtime, b.Mtime)
	}
}
