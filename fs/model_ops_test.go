package fs

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// What the model test does to both sides, an operation a function.

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
	want, errWant := m.want.open(path, flags, mode)
	got, errGot := m.got.open(path, flags, mode)
	if m.same(t, errGot, errWant, "open %q %#x %o", path, flags, mode) {
		m.open = append(m.open, &handle{path, got, want})
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
		e, err := h.got.stat()
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
	want := h.want.WriteAt(p, off)
	m.same(t, h.got.WriteAt(p, off), want, "write %q [%d, %d)", h.path, off, off+int64(len(p)))
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
	n, errWant := h.want.ReadAt(want, off)
	k, errGot := h.got.ReadAt(got, off)
	m.same(t, errGot, errWant, "read %q [%d, %d)", h.path, off, off+int64(len(want)))
	if n != k || !bytes.Equal(got[:n], want[:n]) {
		t.Fatalf("read %q: got %d bytes, want %d; %s", h.path, k, n, difference(got[:k], want[:n]))
	}
}

// copyRange copies within a file, or from one to another.
func (m *model) copyRange(t *rapid.T) {
	from, to := m.handle(t), m.handle(t)
	if from == nil {
		return
	}
	off, at, n := int64(chunkEdge(t, "offset")), int64(chunkEdge(t, "target")), chunkEdge(t, "length")
	a, err := from.want.stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := to.want.stat()
	if err != nil {
		t.Fatal(err)
	}
	if a.Ino == b.Ino && off < at+int64(n) && at < off+int64(n) {
		return // the kernel refuses it
	}
	p := make([]byte, n)
	n, err = from.want.ReadAt(p, off)
	if err == nil && n > 0 {
		err = to.want.WriteAt(p[:n], at)
	}
	copied := 0
	var errGot error
	switch got := from.got.(type) {
	case *kernelFile:
		k, err := got.k.fs.CopyRange(Caller{}, got.ino, off, to.got.(*kernelFile).ino, at, int64(len(p)))
		copied, errGot = int(k), errnoOf(err)
	case descriptor:
		o, a := off, at
		copied, errGot = unix.CopyFileRange(int(got), &o, int(to.got.(descriptor)), &a, len(p), 0)
	}
	if m.same(t, errGot, err, "copy %q [%d, %d) to %q at %d", from.path, off, off+int64(len(p)), to.path, at) && copied != n {
		t.Fatalf("copied %d bytes, want %d", copied, n)
	}
	m.sameContent(t, to)
}

// holes looks at where a file has holes: what there is of data in it lies outside of them.
func (m *model) holes(t *rapid.T) {
	h := m.handle(t)
	if h == nil {
		return
	}
	want, err := readAll(h.want, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(want))
	m.say(t, "holes of %q", h.path)
	for off := int64(0); off < size; {
		data, err := h.got.seek(off, false)
		if err == syscall.ENXIO {
			data, err = size, nil
		}
		if err != nil || data < off || data > size {
			t.Fatalf("data of %q from %d on: %d, %v", h.path, off, data, err)
		}
		if !isZero(want[off:data]) {
			t.Fatalf("%q has data in a hole [%d, %d)", h.path, off, data)
		}
		if off = data; off == size {
			break
		}
		if off, err = h.got.seek(data, true); err != nil || off <= data || off > size {
			t.Fatalf("hole of %q from %d on: %d, %v", h.path, data, off, err)
		}
	}
	for _, hole := range []bool{false, true} {
		if found, err := h.got.seek(size, hole); err != syscall.ENXIO {
			t.Fatalf("behind the end of %q: %d, %v", h.path, found, err)
		}
	}
}

func isZero(p []byte) bool { return len(bytes.TrimLeft(p, "\x00")) == 0 }

func (m *model) sameContent(t *rapid.T, h *handle) {
	want, err := readAll(h.want, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(h.got, 1<<20)
	if err != nil {
		t.Fatalf("read %q: %v", h.path, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%q: %s", h.path, difference(got, want))
	}
}

func (m *model) truncate(t *rapid.T) {
	if h := m.handle(t); h != nil {
		m.truncateTo(t, h)
	}
}

// resize changes the size of one file several times while a commit may be under way: content that
// is stored, cut off and being deleted is where old bytes could come back.
func (m *model) resize(t *rapid.T) {
	h := m.handle(t)
	if h == nil {
		return
	}
	m.writeAt(t, h, int64(chunkEdge(t, "offset")))
	m.sync(t)
	for range rapid.IntRange(2, 4).Draw(t, "times") {
		m.truncateTo(t, h)
		if rapid.Bool().Draw(t, "commit") {
			m.sync(t)
		}
	}
}

func (m *model) truncateTo(t *rapid.T, h *handle) {
	e, err := h.want.stat()
	if err != nil {
		t.Fatal(err)
	}
	size := int64(chunkEdge(t, "size"))
	if size == e.Attr.Size {
		size++ // file systems differ in whether truncating to the same size is a modification
	}
	want := h.want.truncate(size)
	m.same(t, h.got.truncate(size), want, "truncate %q %d -> %d", h.path, e.Attr.Size, size)
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
	if e, err := h.want.stat(); err == nil && e.Attr.Nlink == 0 {
		delete(m.shown, e.Ino)
	}
	h.want.Release()
	h.got.Release()
}

// tmpfile makes a file without a name, and often gives it one.
func (m *model) tmpfile(t *rapid.T) {
	if len(m.open) >= 4 {
		m.release(t)
	}
	dir := pick(t, m.dirs, "dir")
	want, errWant := m.want.tmpfile(dir, 0o640)
	got, errGot := m.got.tmpfile(dir, 0o640)
	if !m.same(t, errGot, errWant, "tmpfile in %q", dir) {
		return
	}
	h := &handle{"(tmpfile)", got, want}
	m.open = append(m.open, h)
	m.writeAt(t, h, int64(chunkEdge(t, "offset")))
	if path := m.fresh(t); rapid.Bool().Draw(t, "link") {
		m.same(t, got.link(m.got, path), want.link(m.want, path), "link the tmpfile as %q", path)
	}
}

func (m *model) mkdir(t *rapid.T) {
	path, mode := m.fresh(t), rapid.SampledFrom([]uint32{0o755, 0o700, 0o1755}).Draw(t, "mode")
	m.same(t, m.got.mkdir(path, mode), m.want.mkdir(path, mode), "mkdir %q %o", path, mode)
}

func (m *model) mknod(t *rapid.T) {
	path := m.fresh(t)
	mode := rapid.SampledFrom([]uint32{syscall.S_IFREG, syscall.S_IFIFO, syscall.S_IFSOCK}).Draw(t, "type") | 0o640
	m.same(t, m.got.mknod(path, mode), m.want.mknod(path, mode), "mknod %q %o", path, mode)
}

func (m *model) symlink(t *rapid.T) {
	path, target := m.fresh(t), rapid.SampledFrom([]string{"a", "../b", "/nowhere", "\xfe"}).Draw(t, "target")
	m.same(t, m.got.symlink(target, path), m.want.symlink(target, path), "symlink %q -> %q", path, target)
}

func (m *model) link(t *rapid.T) {
	from, to := m.old(t), m.fresh(t)
	m.same(t, m.got.link(from, to), m.want.link(from, to), "link %q as %q", from, to)
}

func (m *model) unlink(t *rapid.T) { m.unlinkPath(t, m.old(t)) }

func (m *model) unlinkPath(t *rapid.T, path string) {
	m.goes(path)
	m.same(t, m.got.unlink(path), m.want.unlink(path), "unlink %q", path)
}

func (m *model) rmdir(t *rapid.T) { m.rmdirPath(t, m.old(t)) }

func (m *model) rmdirPath(t *rapid.T, path string) {
	m.goes(path)
	m.same(t, m.got.rmdir(path), m.want.rmdir(path), "rmdir %q", path)
}

// removeAll does what rm -r does, and often makes the directory again.
func (m *model) removeAll(t *rapid.T) {
	top := pick(t, m.dirs, "dir")
	if top == "" || top == workspace && rapid.IntRange(0, 3).Draw(t, "spare") != 0 {
		return
	}
	below := []string{top}
	for _, p := range m.paths {
		if strings.HasPrefix(p, top+"/") {
			below = append(below, p)
		}
	}
	slices.Sort(below)
	for _, p := range slices.Backward(below) {
		if m.kind[p] == syscall.S_IFDIR {
			m.rmdirPath(t, p)
		} else {
			m.unlinkPath(t, p)
		}
	}
	if rapid.Bool().Draw(t, "again") {
		m.same(t, m.got.mkdir(top, 0o755), m.want.mkdir(top, 0o755), "mkdir %q", top)
	}
}

func (m *model) rename(t *rapid.T) {
	from, to := m.old(t), m.fresh(t)
	if rapid.Bool().Draw(t, "onto") {
		to = m.old(t)
	}
	m.goes(to)
	m.same(t, m.got.rename(from, to), m.want.rename(from, to), "rename %q to %q", from, to)
}

// renameWith renames with a flag of renameat2(2).
func (m *model) renameWith(t *rapid.T) {
	from, to := m.old(t), m.old(t)
	flags := rapid.SampledFrom([]uint32{unix.RENAME_EXCHANGE, unix.RENAME_EXCHANGE, unix.RENAME_NOREPLACE}).Draw(t, "flags")
	m.same(t, m.got.renameWith(from, to, flags), m.want.renameWith(from, to, flags), "rename %q to %q, flags %d", from, to, flags)
}

func (m *model) setattr(t *rapid.T, path string, set SetAttr, format string, args ...any) bool {
	want := m.want.setattr(path, set)
	return m.same(t, m.got.setattr(path, set), want, format, args...)
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
	m.setattr(t, path, SetAttr{Mode: &mode}, "chmod %q %o", path, mode)
}

func (m *model) chown(t *rapid.T) {
	path, uid, gid := m.old(t), uint32(os.Getuid()), uint32(os.Getgid())
	if uid == 0 {
		uid, gid = rapid.Uint32Range(0, 2).Draw(t, "uid"), rapid.Uint32Range(0, 2).Draw(t, "gid")
	}
	m.setattr(t, path, SetAttr{UID: &uid, GID: &gid}, "chown %q %d:%d", path, uid, gid)
}

func (m *model) utimes(t *rapid.T) {
	path, atime, mtime := m.old(t), somewhen(t), somewhen(t)
	if !m.setattr(t, path, SetAttr{Atime: &atime, Mtime: &mtime}, "utimes %q %v %v", path, atime, mtime) {
		return
	}
	if e, err := m.got.lstat(path); err != nil || e.Attr.Atime != atime || e.Attr.Mtime != mtime {
		t.Fatalf("utimes %q %v %v: now %v %v (%v)", path, atime, mtime, e.Attr.Atime, e.Attr.Mtime, err)
	}
}

// readdir lists a directory in small portions and removes, between them, files that were listed.
// All that was there must be listed, once.
func (m *model) readdir(t *rapid.T) {
	dir, removing := pick(t, m.dirs, "dir"), rapid.Bool().Draw(t, "removing")
	were, err := os.ReadDir(m.want.at(dir))
	if err != nil {
		t.Fatal(err)
	}
	m.say(t, "readdir %q", dir)
	removed := 0
	all, err := m.got.readdir(dir, rapid.IntRange(1, 4).Draw(t, "portion"), func(all []DirEntry) {
		for ; removing && removed < len(all); removed++ {
			path := strings.TrimPrefix(dir+"/"+all[removed].Name, "/")
			if kind := m.kind[path]; kind != 0 && kind != syscall.S_IFDIR {
				m.unlinkPath(t, path)
			}
		}
	})
	if err != nil {
		t.Fatalf("readdir %q: %v", dir, err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Name)
	}
	want := []string{".", ".."}
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
	if path := m.old(t); m.kind[path] == syscall.S_IFREG {
		m.say(t, "read %q", path)
		m.sameFile(t, path, rapid.SampledFrom([]int{1 << 20, 4096, 100_000}).Draw(t, "request"))
	}
}

func (m *model) sameFile(t *rapid.T, path string, request int) {
	want, err := content(m.want, path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	got, err := content(m.got, path, request)
	if err != nil {
		t.Fatalf("read %q: %v", path, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%q: %s", path, difference(got, want))
	}
}

// sync commits now, or beside the operations that follow.
func (m *model) sync(t *rapid.T) {
	if !rapid.Bool().Draw(t, "wait") {
		m.say(t, "sync in the background")
		m.syncing.Go(func() { m.got.sync() })
		return
	}
	m.say(t, "sync")
	if err := m.got.sync(); err != nil {
		t.Fatal(err)
	}
}

func (m *model) forget(t *rapid.T) {
	m.say(t, "forget")
	m.got.forget()
}

// remount ends the session and begins another one, which must show what the first did, under the
// same inode numbers.
func (m *model) remount(t *rapid.T) {
	m.say(t, "remount")
	for len(m.open) > 0 {
		m.sameContent(t, m.open[0])
		m.drop(m.open[0])
	}
	m.compare(t)
	m.syncing.Wait()
	m.got.remount(t)
	m.compareAll(t)
}
