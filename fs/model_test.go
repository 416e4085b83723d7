package fs

import (
	"bytes"
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

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
)

var longName = strings.Repeat("n", sqlvfs.NameMax)

// names are few, so that operations meet.
var names = []string{"a", "b", "c", "d", "\xff", longName}

// workspace is the base's name in the root of the overlay.
const workspace = "ws"

var steps = flag.Int("model.steps", 250, "average number of operations in each check of the model test")

// model is an overlay and a host directory to which the same things are done.
type model struct {
	base, real, db string // directories, and a file

	store   *sqlvfs.Store
	host    *Host
	overlay *Overlay
	k       *kernel
	before  string // portrait of the base

	open    []*handle
	shown   map[uint64]Ino // numbers that the overlay gave to the inodes of real
	paths   []string       // of all that there is, the root excepted
	dirs    []string       // of directories, the root included
	kind    map[string]uint32
	forgets bool // the kernel keeps nothing from one step to the next
	began   int64
	seed    int
	plus    bool
	done    int // operations
	syncing sync.WaitGroup
}

// handle is a file that is open on both sides.
type handle struct {
	path string // when it was opened
	ino  Ino
	f    File
	fd   int
}

// TestOverlayIsLikeADirectory does random things to an overlay and to a directory of the host that
// began with the same content, and compares all there is to see after each.
func TestOverlayIsLikeADirectory(t *testing.T) {
	flag.Set("rapid.steps", fmt.Sprint(*steps))
	flag.Set("rapid.nofailfile", "true") // the seed, which is printed, brings a failure back
	top := t.TempDir()
	total, checks := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := newModel(rt, dir)
		defer m.close()
		rt.Repeat(map[string]func(*rapid.T){
			"":         m.compare,
			"open":     m.openFile,
			"open2":    m.openFile,
			"write":    m.write,
			"write2":   m.write,
			"append":   m.append,
			"pread":    m.pread,
			"truncate": m.truncate,
			"release":  m.release,
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
		if after := portrait(t, m.base); after != m.before {
			rt.Errorf("the base has changed:\n%s\nit was:\n%s", after, m.before)
		}
		total += m.done
		checks++
	})
	t.Logf("%d operations in %d checks", total, checks)
}

func newModel(t *rapid.T, dir string) *model {
	m := &model{
		base: filepath.Join(dir, "base"), real: filepath.Join(dir, "real"), db: filepath.Join(dir, "a.db"),
		shown: map[uint64]Ino{}, began: time.Now().Unix(),
		forgets: rapid.Bool().Draw(t, "forgets"),
	}
	tree := drawTree(t)
	for _, d := range []string{m.base, m.real, filepath.Join(m.real, workspace)} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{m.base, filepath.Join(m.real, workspace)} {
		if err := plant(d, tree); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range tree {
		t.Logf("base: %+v", o)
	}
	m.before = portrait(t, m.base)
	m.mount(t)
	return m
}

func (m *model) mount(t *rapid.T) {
	now := sqlvfs.Now()
	var err error
	m.store, err = sqlvfs.Open(m.db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{
		Mode: syscall.S_IFDIR | 0o755, Nlink: 3, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Atime: now, Mtime: now, Ctime: now,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if m.host, err = OpenHost(m.base, m.db); err != nil {
		t.Fatal(err)
	}
	m.overlay, err = NewOverlay(OverlayOptions{Store: m.store, Base: m.host, Name: workspace, Logf: func(f string, a ...any) {
		t.Fatalf("logged: "+f, a...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	m.k = newKernel(m.overlay, Caller{uint32(os.Getuid()), uint32(os.Getgid())})
}

// close ends a check, also one that has failed in the middle of something.
func (m *model) close() {
	m.syncing.Wait()
	for _, h := range m.open {
		unix.Close(h.fd)
	}
	if m.host != nil {
		m.store.Close()
		m.host.Close()
	}
}

func (m *model) at(path string) string { return filepath.Join(m.real, path) }

// same fails unless both sides ended an operation in the same way.
func (m *model) same(t *rapid.T, got, want error, format string, args ...any) bool {
	what := fmt.Sprintf(format, args...)
	m.say(t, "%s: %v", what, want)
	if got != want {
		t.Fatalf("%s: %v, on the host %v", what, got, want)
	}
	return want == nil
}

// say notes an operation.
func (m *model) say(t *rapid.T, format string, args ...any) {
	m.done++
	t.Log(strings.ReplaceAll(fmt.Sprintf(format, args...), longName, "LONG"))
}

// goes prepares for the end of what a path names: its number may be used again.
func (m *model) goes(path string) {
	var st unix.Stat_t
	if unix.Lstat(m.at(path), &st) == nil && (st.Nlink == 1 || st.Mode&syscall.S_IFMT == syscall.S_IFDIR) {
		delete(m.shown, st.Ino)
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
	name := pick(t, names, "name")
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func (m *model) openFile(t *rapid.T) {
	if len(m.open) >= 4 {
		m.release(t)
	}
	path := m.old(t)
	if rapid.Bool().Draw(t, "fresh") {
		path = m.fresh(t)
	}
	if kind := m.kind[path]; kind == syscall.S_IFIFO || kind == syscall.S_IFSOCK {
		return // these are opened without asking the file system
	}
	flags := unix.O_RDWR | rapid.SampledFrom([]int{0, unix.O_CREAT, unix.O_CREAT | unix.O_EXCL, unix.O_CREAT | unix.O_TRUNC, unix.O_TRUNC}).Draw(t, "flags")
	mode := rapid.SampledFrom([]uint32{0o644, 0o755, 0o600}).Draw(t, "mode")
	fd, want := unix.Open(m.at(path), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	ino, f, got := m.k.open(path, flags, mode)
	if want == nil {
		defer func(fd int) {
			if got != nil {
				unix.Close(fd)
			}
		}(fd)
	}
	if m.same(t, got, want, "open %q %#x %o", path, flags, mode) {
		m.open = append(m.open, &handle{path, ino, f, fd})
	}
}

func (m *model) handle(t *rapid.T) *handle {
	if len(m.open) == 0 {
		return nil
	}
	return rapid.SampledFrom(m.open).Draw(t, "handle")
}

func (m *model) write(t *rapid.T) {
	if h := m.handle(t); h != nil {
		m.writeAt(t, h, int64(chunkEdge(t, "offset")))
	}
}

func (m *model) append(t *rapid.T) {
	if h := m.handle(t); h != nil {
		e, err := m.overlay.Getattr(h.ino)
		if err != nil {
			t.Fatal(err)
		}
		if e.Attr.Size < 300<<10 {
			m.writeAt(t, h, e.Attr.Size)
		}
	}
}

func (m *model) writeAt(t *rapid.T, h *handle, off int64) {
	m.seed++
	p := someBytes(rapid.SampledFrom([]int{1, 3, 1000, 4096, 1 << 16, 70000}).Draw(t, "length"), m.seed)
	_, want := unix.Pwrite(h.fd, p, off)
	got := h.f.WriteAt(p, off)
	m.same(t, errnoOf(got), want, "write %q [%d, %d)", h.path, off, off+int64(len(p)))
	m.sameContent(t, h)
}

func (m *model) pread(t *rapid.T) {
	h := m.handle(t)
	if h == nil {
		return
	}
	off := int64(chunkEdge(t, "offset"))
	want := make([]byte, chunkEdge(t, "length"))
	got := slices.Clone(want)
	n, errWant := unix.Pread(h.fd, want, off)
	k, errGot := h.f.ReadAt(got, off)
	m.same(t, errnoOf(errGot), errWant, "read %q [%d, %d)", h.path, off, off+int64(len(want)))
	if n != k || !bytes.Equal(got[:n], want[:n]) {
		t.Fatalf("read %q: got %d bytes, want %d; %s", h.path, k, n, difference(got[:k], want[:n]))
	}
}

func (m *model) sameContent(t *rapid.T, h *handle) {
	want, err := readAll(descriptor(h.fd), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(h.f, 1<<20)
	if err != nil {
		t.Fatalf("read %q: %v", h.path, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%q: %s", h.path, difference(got, want))
	}
}

// descriptor reads a host file as a File does.
type descriptor int

func (d descriptor) ReadAt(p []byte, off int64) (int, error) { return unix.Pread(int(d), p, off) }

func difference(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("content differs from byte %d on; %d bytes, want %d", i, len(got), len(want))
}

func (m *model) truncate(t *rapid.T) {
	h := m.handle(t)
	if h == nil {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstat(h.fd, &st); err != nil {
		t.Fatal(err)
	}
	size := int64(chunkEdge(t, "size"))
	if size == st.Size {
		size++ // file systems differ in whether truncating to the same size is a modification
	}
	want := unix.Ftruncate(h.fd, size)
	_, got := m.overlay.Setattr(h.ino, SetAttr{Size: &size})
	m.same(t, errnoOf(got), want, "truncate %q %d -> %d", h.path, st.Size, size)
	m.sameContent(t, h)
}

func (m *model) release(t *rapid.T) {
	if h := m.handle(t); h != nil {
		m.sameContent(t, h)
		m.say(t, "release %q", h.path)
		m.drop(h)
	}
}

func (m *model) drop(h *handle) {
	m.open = slices.DeleteFunc(m.open, func(x *handle) bool { return x == h })
	var st unix.Stat_t
	if unix.Fstat(h.fd, &st) == nil && st.Nlink == 0 {
		delete(m.shown, st.Ino)
	}
	h.f.Release()
	unix.Close(h.fd)
}

func (m *model) mkdir(t *rapid.T) {
	path, mode := m.fresh(t), rapid.SampledFrom([]uint32{0o755, 0o700, 0o1755}).Draw(t, "mode")
	m.same(t, m.k.mkdir(path, mode), unix.Mkdir(m.at(path), mode), "mkdir %q %o", path, mode)
}

func (m *model) mknod(t *rapid.T) {
	path := m.fresh(t)
	mode := rapid.SampledFrom([]uint32{syscall.S_IFREG, syscall.S_IFIFO, syscall.S_IFSOCK}).Draw(t, "type") | 0o640
	m.same(t, m.k.mknod(path, mode), unix.Mknod(m.at(path), mode, 0), "mknod %q %o", path, mode)
}

func (m *model) symlink(t *rapid.T) {
	path, target := m.fresh(t), rapid.SampledFrom([]string{"a", "../b", "/nowhere", "\xfe"}).Draw(t, "target")
	m.same(t, m.k.symlink(target, path), unix.Symlink(target, m.at(path)), "symlink %q -> %q", path, target)
}

func (m *model) link(t *rapid.T) {
	from, to := m.old(t), m.fresh(t)
	m.same(t, m.k.link(from, to), unix.Link(m.at(from), m.at(to)), "link %q as %q", from, to)
}

func (m *model) unlink(t *rapid.T) { m.unlinkPath(t, m.old(t)) }

func (m *model) unlinkPath(t *rapid.T, path string) {
	m.goes(path)
	m.same(t, m.k.unlink(path), unix.Unlink(m.at(path)), "unlink %q", path)
}

func (m *model) rmdir(t *rapid.T) { m.rmdirPath(t, m.old(t)) }

func (m *model) rmdirPath(t *rapid.T, path string) {
	if m.same(t, m.k.rmdir(path), unix.Rmdir(m.at(path)), "rmdir %q", path) {
		clear(m.shown) // compare learns the rest again
	}
}

// removeAll does what rm -r does, and often makes the directory again.
func (m *model) removeAll(t *rapid.T) {
	top := pick(t, m.dirs, "dir")
	if top == "" || top == workspace && rapid.IntRange(0, 3).Draw(t, "spare") != 0 {
		return
	}
	var below []string
	for _, p := range m.paths {
		if strings.HasPrefix(p, top+"/") {
			below = append(below, p)
		}
	}
	slices.Sort(below)
	for _, p := range slices.Backward(append([]string{top}, below...)) {
		if m.kind[p] == syscall.S_IFDIR {
			m.rmdirPath(t, p)
		} else {
			m.unlinkPath(t, p)
		}
	}
	if rapid.Bool().Draw(t, "again") {
		m.same(t, m.k.mkdir(top, 0o755), unix.Mkdir(m.at(top), 0o755), "mkdir %q", top)
	}
}

func (m *model) rename(t *rapid.T) {
	from, to := m.old(t), m.fresh(t)
	if rapid.Bool().Draw(t, "onto") {
		to = m.old(t)
	}
	m.goes(to)
	if m.same(t, m.k.rename(from, to), unix.Rename(m.at(from), m.at(to)), "rename %q to %q", from, to) && from == to {
		m.compare(t)
	}
}

func (m *model) chmod(t *rapid.T) {
	path := m.old(t)
	if m.kind[path] == syscall.S_IFLNK {
		return // has no mode
	}
	mode := rapid.SampledFrom([]uint32{0o644, 0o700, 0o777, 0o600}).Draw(t, "mode")
	if m.kind[path] == syscall.S_IFDIR {
		mode = rapid.SampledFrom([]uint32{0o755, 0o2755, 0o1755}).Draw(t, "mode")
	}
	m.same(t, m.k.setattr(path, SetAttr{Mode: &mode}), unix.Chmod(m.at(path), mode), "chmod %q %o", path, mode)
}

func (m *model) chown(t *rapid.T) {
	path, uid, gid := m.old(t), uint32(os.Getuid()), uint32(os.Getgid())
	if uid == 0 {
		uid, gid = rapid.Uint32Range(0, 2).Draw(t, "uid"), rapid.Uint32Range(0, 2).Draw(t, "gid")
	}
	want := unix.Lchown(m.at(path), int(uid), int(gid))
	m.same(t, m.k.setattr(path, SetAttr{UID: &uid, GID: &gid}), want, "chown %q %d:%d", path, uid, gid)
}

func (m *model) utimes(t *rapid.T) {
	path, atime, mtime := m.old(t), somewhen(t), somewhen(t)
	want := unix.UtimesNanoAt(unix.AT_FDCWD, m.at(path), []unix.Timespec{
		{Sec: atime.Sec, Nsec: int64(atime.Nsec)}, {Sec: mtime.Sec, Nsec: int64(mtime.Nsec)},
	}, unix.AT_SYMLINK_NOFOLLOW)
	if !m.same(t, m.k.setattr(path, SetAttr{Atime: &atime, Mtime: &mtime}), want, "utimes %q %v %v", path, atime, mtime) {
		return
	}
	if e, err := m.k.lstat(path); err != nil || e.Attr.Atime != atime || e.Attr.Mtime != mtime {
		t.Fatalf("utimes %q %v %v: now %v %v (%v)", path, atime, mtime, e.Attr.Atime, e.Attr.Mtime, err)
	}
}

// readdir lists a directory in small portions and removes, between them, files that were listed.
// All that stays must be listed, once.
func (m *model) readdir(t *rapid.T) {
	dir := pick(t, m.dirs, "dir")
	removing := rapid.Bool().Draw(t, "removing")
	were, err := os.ReadDir(m.at(dir))
	if err != nil {
		t.Fatal(err)
	}
	m.say(t, "readdir %q", dir)
	removed := 0
	all, err := m.k.readdir(dir, rapid.IntRange(1, 4).Draw(t, "portion"), rapid.Bool().Draw(t, "plus"), func(all []DirEntry) {
		for ; removing && removed < len(all); removed++ {
			path := strings.TrimPrefix(dir+"/"+all[removed].Name, "/")
			switch m.kind[path] {
			case 0, syscall.S_IFDIR:
			default:
				m.unlinkPath(t, path)
			}
		}
	})
	if err != nil {
		t.Fatalf("readdir %q: %v", dir, err)
	}
	var got, want []string
	for _, e := range all {
		got = append(got, e.Name)
	}
	want = []string{".", ".."}
	for _, e := range were {
		want = append(want, e.Name())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("readdir %q: %q, on the host %q", dir, got, want)
	}
}

func (m *model) content(t *rapid.T) {
	path := m.old(t)
	if m.kind[path] == syscall.S_IFREG {
		m.done++
		m.sameFile(t, path, rapid.SampledFrom([]int{1 << 20, 4096, 100_000}).Draw(t, "request"))
	}
}

func (m *model) sameFile(t *rapid.T, path string, request int) {
	want, err := os.ReadFile(m.at(path))
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.k.content(path, request)
	if err != nil {
		t.Fatalf("read %q: %v", path, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%q: %s", path, difference(got, want))
	}
}

// sync commits now, or beside the operations that follow.
func (m *model) sync(t *rapid.T) {
	if rapid.Bool().Draw(t, "wait") {
		m.say(t, "sync")
		if err := m.overlay.Sync(); err != nil {
			t.Fatal(err)
		}
		return
	}
	m.say(t, "sync in the background")
	m.syncing.Go(func() { m.overlay.Sync() })
}

// held are the inodes that the kernel cannot forget: those of open files.
func (m *model) held() map[Ino]bool {
	keep := map[Ino]bool{}
	for _, h := range m.open {
		keep[h.ino] = true
	}
	return keep
}

func (m *model) forget(t *rapid.T) {
	m.say(t, "forget")
	m.k.forget(m.held())
}

// remount ends the session and begins another one, which must show what the first did.
func (m *model) remount(t *rapid.T) {
	m.say(t, "remount")
	for len(m.open) > 0 {
		m.sameContent(t, m.open[0])
		m.drop(m.open[0])
	}
	m.compare(t)
	was := m.numbers(t)
	m.syncing.Wait()
	m.k.forget(nil)
	if n := len(m.overlay.nodes); n != 1 {
		t.Fatalf("%d nodes are live though the kernel has forgotten all but the root", n)
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	m.host.Close()
	m.host = nil
	found, err := sqlvfs.Check(m.db)
	for _, f := range found {
		t.Errorf("check: inode %d %s", f.Ino, f.Text)
	}
	if err != nil || len(found) > 0 {
		t.Fatalf("check: %v", err)
	}
	m.mount(t)
	m.compare(t)
	for path, ino := range m.numbers(t) {
		if was[path] != ino {
			t.Fatalf("%q was inode %d, now it is %d", path, was[path], ino)
		}
	}
	for _, path := range m.paths {
		if m.kind[path] == syscall.S_IFREG {
			m.sameFile(t, path, 1<<20)
		}
	}
}

func (m *model) numbers(t *rapid.T) map[string]Ino {
	all := map[string]Ino{}
	for _, path := range m.paths {
		e, err := m.k.lstat(path)
		if err != nil {
			t.Fatalf("lstat %q: %v", path, err)
		}
		all[path] = e.Ino
	}
	return all
}

// compare looks at everything but the content of files, on both sides.
func (m *model) compare(t *rapid.T) {
	m.plus = !m.plus
	m.paths, m.dirs, m.kind = nil, nil, map[string]uint32{}
	before := m.shown
	m.shown = map[uint64]Ino{}
	taken := map[Ino]uint64{}
	see := func(path string, st *unix.Stat_t, e Entry) {
		m.sameAttributes(t, path, st, e)
		if was, ok := before[st.Ino]; ok && was != e.Ino {
			t.Fatalf("%q was inode %d, now it is %d", path, was, e.Ino)
		}
		if twin, ok := taken[e.Ino]; ok && twin != st.Ino {
			t.Fatalf("%q has the number %d, as another file has", path, e.Ino)
		}
		if was, ok := m.shown[st.Ino]; ok && was != e.Ino {
			t.Fatalf("%q is inode %d, but by another name %d", path, e.Ino, was)
		}
		m.shown[st.Ino], taken[e.Ino] = e.Ino, st.Ino
	}
	root, err := m.k.lstat("")
	if err != nil {
		t.Fatal(err)
	}
	m.compareDir(t, "", root, see)
	for _, h := range m.open {
		var st unix.Stat_t
		if err := unix.Fstat(h.fd, &st); err != nil {
			t.Fatal(err)
		}
		e, err := m.overlay.Getattr(h.ino)
		if err != nil {
			t.Fatalf("fstat %q: %v", h.path, err)
		}
		see(h.path, &st, e)
	}
	if m.forgets {
		m.k.forget(m.held())
	}
}

func (m *model) compareDir(t *rapid.T, dir string, self Entry, see func(string, *unix.Stat_t, Entry)) {
	var st unix.Stat_t
	if err := unix.Lstat(m.at(dir), &st); err != nil {
		t.Fatal(err)
	}
	see(dir, &st, self)
	m.dirs = append(m.dirs, dir)
	want, err := os.ReadDir(m.at(dir))
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.k.readdir(dir, 1000, m.plus, func([]DirEntry) {})
	if err != nil {
		t.Fatalf("readdir %q: %v", dir, err)
	}
	list = list[2:] // . and ..
	slices.SortFunc(list, func(a, b DirEntry) int { return strings.Compare(a.Name, b.Name) })
	for i := range max(len(list), len(want)) {
		switch {
		case i >= len(list) || i < len(want) && want[i].Name() < list[i].Name:
			t.Fatalf("readdir %q: %q is missing", dir, want[i].Name())
		case i >= len(want) || want[i].Name() > list[i].Name:
			t.Fatalf("readdir %q: %q is too much", dir, list[i].Name)
		}
		path := strings.TrimPrefix(dir+"/"+list[i].Name, "/")
		e, err := list[i].Entry, error(nil)
		if !m.plus {
			e, err = m.k.child(self.Ino, list[i].Name)
		}
		if err != nil || e.Ino == 0 {
			t.Fatalf("lookup %q: %v", path, err)
		}
		if list[i].Ino != e.Ino || list[i].Mode&syscall.S_IFMT != e.Attr.Mode&syscall.S_IFMT {
			t.Fatalf("%q is listed as inode %d of type %#o, but is %d, %#o", path, list[i].Ino, list[i].Mode, e.Ino, e.Attr.Mode)
		}
		m.paths = append(m.paths, path)
		m.kind[path] = e.Attr.Mode & syscall.S_IFMT
		if e.Attr.IsDir() {
			m.compareDir(t, path, e, see)
			continue
		}
		if err := unix.Lstat(m.at(path), &st); err != nil {
			t.Fatal(err)
		}
		see(path, &st, e)
		if e.Attr.IsSymlink() {
			want, _ := os.Readlink(m.at(path))
			if got, err := m.k.readlink(path); err != nil || got != want {
				t.Fatalf("readlink %q: %q, %v, on the host %q", path, got, err, want)
			}
		}
	}
}

func (m *model) sameAttributes(t *rapid.T, path string, st *unix.Stat_t, e Entry) {
	a := e.Attr
	if a.Mode != st.Mode || a.Nlink != uint32(st.Nlink) || a.UID != st.Uid || a.GID != st.Gid || !a.IsDir() && a.Size != st.Size {
		t.Fatalf("%q (inode %d) has mode %o, %d links, owner %d:%d, size %d;\non the host mode %o, %d links, owner %d:%d, size %d",
			path, e.Ino, a.Mode, a.Nlink, a.UID, a.GID, a.Size, st.Mode, st.Nlink, st.Uid, st.Gid, st.Size)
	}
	// A time that was set must be exact; one that the clock gave is from the test's own time.
	was := sqlvfs.Timespec{Sec: st.Mtim.Sec, Nsec: int32(st.Mtim.Nsec)}
	if set := was.Sec < m.began-1; set && a.Mtime != was || !set && a.Mtime.Sec < m.began-1 {
		t.Fatalf("%q (inode %d) has mtime %v, on the host %v", path, e.Ino, a.Mtime, was)
	}
}
