package reconcile

import (
	"errors"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	artfs "github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// guest is a session's file system without a kernel: what a program in the sandbox would do.
type guest struct {
	t       testing.TB
	store   *sqlvfs.Store
	base    *artfs.Host
	overlay *artfs.Overlay
	refs    []artfs.Ino // what forget is to forget
	forgets bool        // it is called
}

// knows notes a reference of the kernel's.
func (g *guest) knows(e artfs.Entry) {
	if g.forgets && e.Ino != 0 {
		g.refs = append(g.refs, e.Ino)
	}
}

// forget has the kernel forget what it knows.
func (g *guest) forget() {
	for _, ino := range g.refs {
		g.overlay.Forget(ino, 1)
	}
	g.refs = g.refs[:0]
}

var agent = artfs.Caller{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}

// later has what is changed from now on be newer than all before, by a clock that ticks every few milliseconds (sqlvfs.Now).
func later() {
	for now := sqlvfs.Now(); sqlvfs.Now() == now; {
		time.Sleep(time.Millisecond)
	}
}

// guest runs f as a session over the workspace.
func (b bench) guest(f func(g *guest)) {
	b.t.Helper()
	later()
	g := &guest{t: b.t}
	var err error
	g.store, err = sqlvfs.Open(b.db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}})
	must(b.t, err)
	g.base, err = artfs.OpenHost(b.ws, b.db)
	must(b.t, err)
	g.overlay, err = artfs.NewOverlay(artfs.OverlayOptions{Store: g.store, Base: g.base, Name: "ws", Logf: func(string, ...any) {}})
	must(b.t, err)
	defer func() {
		must(b.t, g.store.Close())
		must(b.t, g.base.Close())
	}()
	f(g)
}

func (g *guest) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// find returns the number of what is at a path of the workspace, or ENOENT.
func (g *guest) find(rel string) (artfs.Entry, error) {
	at := artfs.Entry{Ino: artfs.RootIno}
	for name := range strings.SplitSeq(path.Join("ws", rel), "/") {
		next, err := g.overlay.Lookup(at.Ino, name)
		if err != nil {
			return next, err
		}
		g.knows(next)
		if next.Ino == 0 {
			return next, unix.ENOENT
		}
		at = next
	}
	return at, nil
}

func (g *guest) parent(rel string) (artfs.Ino, string) {
	g.t.Helper()
	e, err := g.find(path.Dir(rel))
	g.must(err)
	return e.Ino, path.Base(rel)
}

func (g *guest) write(rel, content string) {
	g.t.Helper()
	e, err := g.find(rel)
	if err == unix.ENOENT {
		dir, name := g.parent(rel)
		e, err = g.overlay.Mknod(agent, dir, name, unix.S_IFREG|0o644, 0)
		g.knows(e)
	}
	g.must(err)
	size := int64(0)
	_, err = g.overlay.Setattr(agent, e.Ino, artfs.SetAttr{Size: &size})
	g.must(err)
	g.must(g.overlay.Write(agent, e.Ino, []byte(content), 0))
}

// patch writes a part of a file.
func (g *guest) patch(rel, content string, off int64) {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	g.must(g.overlay.Write(agent, e.Ino, []byte(content), off))
}

func (g *guest) append(rel, content string) {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	err = g.overlay.Append(agent, e.Ino, []byte(content), e.Attr.Size)
	if !errors.Is(err, sqlvfs.ErrBaseChanged) {
		g.must(err)
	}
}

func (g *guest) truncate(rel string) {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	size := int64(0)
	_, err = g.overlay.Setattr(agent, e.Ino, artfs.SetAttr{Size: &size})
	g.must(err)
}

func (g *guest) read(rel string) string {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	data := make([]byte, e.Attr.Size)
	n, err := g.overlay.Read(e.Ino, data, 0)
	if errors.Is(err, unix.ESTALE) { // the host has made it shorter: the kernel asks again
		n, err = g.overlay.Read(e.Ino, data, 0)
	}
	if errors.Is(err, sqlvfs.ErrBaseChanged) {
		return "broken"
	}
	if err != nil {
		g.t.Fatalf("read %s: %v", rel, err)
	}
	return string(data[:n])
}

func (g *guest) mkdir(rel string) {
	g.t.Helper()
	dir, name := g.parent(rel)
	_, err := g.overlay.Mkdir(agent, dir, name, 0o755)
	g.must(err)
}

func (g *guest) symlink(target, rel string) {
	g.t.Helper()
	dir, name := g.parent(rel)
	_, err := g.overlay.Symlink(agent, dir, name, target)
	g.must(err)
}

func (g *guest) chmod(rel string, mode uint32) {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	_, err = g.overlay.Setattr(agent, e.Ino, artfs.SetAttr{Mode: &mode})
	g.must(err)
}

func (g *guest) rename(from, to string) {
	g.t.Helper()
	fromDir, fromName := g.parent(from)
	toDir, toName := g.parent(to)
	g.must(g.overlay.Rename(agent, fromDir, fromName, toDir, toName, 0))
}

// replace gives a file another content in one step.
func (g *guest) replace(rel, content string) {
	g.t.Helper()
	g.write(rel+".new", content)
	g.rename(rel+".new", rel)
}

// exchange has two names change places.
func (g *guest) exchange(a, b string) {
	g.t.Helper()
	aDir, aName := g.parent(a)
	bDir, bName := g.parent(b)
	g.must(g.overlay.Rename(agent, aDir, aName, bDir, bName, unix.RENAME_EXCHANGE))
}

// names lists a directory.
func (g *guest) names(rel string) []string {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	var names []string
	g.must(g.overlay.ReadDir(e.Ino, 0, false, func(e artfs.DirEntry) bool {
		if e.Name != "." && e.Name != ".." {
			names = append(names, e.Name)
		}
		return true
	}))
	return names
}

// remove removes a file, or a directory with all that is in it.
func (g *guest) remove(rel string) {
	g.t.Helper()
	e, err := g.find(rel)
	g.must(err)
	dir, name := g.parent(rel)
	if !e.Attr.IsDir() {
		g.must(g.overlay.Unlink(agent, dir, name))
		return
	}
	for _, n := range g.names(rel) {
		g.remove(rel + "/" + n)
	}
	g.must(g.overlay.Rmdir(agent, dir, name))
}

// portrait describes what the guest sees, without times: paths, modes, content, targets.
func (g *guest) portrait() map[string]string {
	g.t.Helper()
	all := map[string]string{}
	var walk func(rel string)
	walk = func(rel string) {
		for _, n := range g.names(rel) {
			at := join(rel, n)
			e, err := g.find(at)
			g.must(err)
			switch {
			case e.Attr.IsDir():
				all[at] = "dir"
				walk(at)
			case e.Attr.IsSymlink():
				target, err := g.overlay.Readlink(e.Ino)
				g.must(err)
				all[at] = "-> " + target
			default:
				all[at] = modeText(e.Attr.Mode) + g.read(at)
			}
		}
	}
	walk(".")
	return all
}

func modeText(mode uint32) string {
	if mode&0o100 != 0 {
		return "executable "
	}
	return "file "
}

// hostPortrait describes the host in the same way.
func (b bench) hostPortrait() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	h, err := openHost(b.ws)
	must(b.t, err)
	defer h.close()
	var walk func(rel string)
	walk = func(rel string) {
		d, err := h.openDir(rel)
		must(b.t, err)
		defer d.Close()
		names, err := hostfs.Names(d)
		must(b.t, err)
		for _, n := range names {
			at := join(rel, n)
			st, err := hostfs.StatAt(d, n)
			must(b.t, err)
			switch kind(st.Mode) {
			case unix.S_IFDIR:
				all[at] = "dir"
				walk(at)
			case unix.S_IFLNK:
				target, err := hostfs.Readlink(d, n)
				must(b.t, err)
				all[at] = "-> " + target
			default:
				data, err := os.ReadFile(b.path(at))
				must(b.t, err)
				all[at] = modeText(st.Mode) + string(data)
			}
		}
	}
	walk(".")
	return all
}
