package reconcile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a workspace and a database for one test.
type bench struct {
	t      testing.TB
	ws, db string
}

func newBench(t testing.TB) bench {
	dir := t.TempDir()
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	must(t, os.Mkdir(b.ws, 0o755))
	return b
}

func (b bench) path(rel string) string { return filepath.Join(b.ws, rel) }

func (b bench) write(rel, content string) {
	b.t.Helper()
	must(b.t, os.MkdirAll(filepath.Dir(b.path(rel)), 0o755))
	must(b.t, os.WriteFile(b.path(rel), []byte(content), 0o644))
}

// push and pull return what was printed and told. An error fails the test.
func (b bench) push(change ...func(*Options)) (stdout, stderr string) {
	b.t.Helper()
	stdout, stderr, err := b.run(Push, b.ws, change...)
	if err != nil {
		b.t.Fatalf("push: %v\n%s", err, stderr)
	}
	return stdout, stderr
}

func (b bench) pull(dir string, change ...func(*Options)) (stdout, stderr string) {
	b.t.Helper()
	stdout, stderr, err := b.run(Pull, dir, change...)
	if err != nil {
		b.t.Fatalf("pull: %v\n%s", err, stderr)
	}
	return stdout, stderr
}

func (b bench) run(do func(context.Context, Options) error, dir string, change ...func(*Options)) (stdout, stderr string, err error) {
	var out, told bytes.Buffer
	b.belongs(dir)
	opt := Options{Dir: dir, DB: b.db, Stdout: &out, Stderr: &told}
	for _, c := range change {
		c(&opt)
	}
	err = do(context.Background(), opt)
	return out.String(), told.String(), err
}

// belonged are directories that a database knew as its workspace when a test last ran on it, by database: to open it once
// more only to look takes as long as a small push.
var belonged sync.Map

// belongs makes another directory the workspace, without its being looked at.
func (b bench) belongs(dir string) {
	b.t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		return // the test is about that
	}
	defer d.Close()
	w, err := sqlvfs.WorkspaceAt(int(d.Fd()), dir, filepath.Base(dir))
	must(b.t, err)
	type both struct {
		dir, db os.FileInfo
		path    string
	}
	info, err := os.Stat(b.db)
	if err != nil {
		return // there is none yet
	}
	is, err := d.Stat()
	must(b.t, err)
	now := both{is, info, dir}
	if was, ok := belonged.Load(b.db); ok && was.(both).path == dir && os.SameFile(was.(both).dir, is) && os.SameFile(was.(both).db, info) {
		return
	}
	belongs := func(readOnly bool) bool {
		s, err := sqlvfs.Open(b.db, sqlvfs.Options{ReadOnly: readOnly})
		if err != nil {
			return true // same
		}
		defer s.Close()
		same := true
		step(b.t, s, func(tx *sqlvfs.Tx) {
			list, _ := tx.Workspaces()
			for _, was := range list {
				if was.Name == w.Name && was.Path != w.Path {
					if w.Whole = was.Whole; !readOnly {
						tx.SetWorkspace(w)
					}
					same = false
				}
			}
		})
		return same
	}
	if !belongs(true) {
		belongs(false)
	}
	belonged.Store(b.db, now)
}

// step runs a step on a store.
func step(t testing.TB, s *sqlvfs.Store, do func(tx *sqlvfs.Tx)) {
	t.Helper()
	run := s.Update
	if s.ReadOnly() {
		run = s.View
	}
	must(t, run(func(tx *sqlvfs.Tx) error {
		do(tx)
		return nil
	}))
}

// lookup returns the row that a name stands for.
func lookup(t testing.TB, s *sqlvfs.Store, dir *sqlvfs.Inode, name string) (row *sqlvfs.Inode) {
	t.Helper()
	step(t, s, func(tx *sqlvfs.Tx) {
		c, _, _, err := tx.Child(dir, name)
		must(t, err)
		row, err = tx.Get(c.Ino)
		must(t, err)
	})
	return row
}

// newRow gives a name a row without an origin.
func newRow(t testing.TB, s *sqlvfs.Store, dir *sqlvfs.Inode, name string, attr sqlvfs.Attr) (row *sqlvfs.Inode) {
	t.Helper()
	step(t, s, func(tx *sqlvfs.Tx) {
		var err error
		row, err = tx.New(attr)
		must(t, err)
		must(t, tx.Link(dir, name, row))
	})
	return row
}

// keeps has the database be one that keeps what was pulled, as after a push of all.
func (b bench) keeps() {
	b.t.Helper()
	d, err := os.Open(b.ws)
	must(b.t, err)
	defer d.Close()
	w, err := sqlvfs.WorkspaceAt(int(d.Fd()), b.ws, "ws")
	must(b.t, err)
	w.Whole = true
	s, err := sqlvfs.Open(b.db, sqlvfs.Options{})
	must(b.t, err)
	step(b.t, s, func(tx *sqlvfs.Tx) { tx.SetWorkspace(w) })
	must(b.t, s.Close())
}

func dryRun(o *Options)   { o.DryRun = true }
func force(o *Options)    { o.Force = true }
func keepBoth(o *Options) { o.KeepBoth = true }
func allow(o *Options)    { o.Allow = []string{"*"} }
func quiet(o *Options)    { o.Quiet = true }

// other makes an empty directory with the workspace's name somewhere else.
func (b bench) other() string {
	b.t.Helper()
	dir := filepath.Join(b.t.TempDir(), "ws")
	must(b.t, os.Mkdir(dir, 0o700))
	return dir
}

// sql changes the database behind art's back.
func (b bench) sql(query string) {
	b.t.Helper()
	c, err := sqlite3.Open(b.db)
	must(b.t, err)
	defer c.Close()
	must(b.t, c.Exec(query))
}

func (b bench) count(query string) (n int64) {
	b.t.Helper()
	c, err := sqlite3.Open(b.db)
	must(b.t, err)
	defer c.Close()
	q, _, err := c.Prepare(query)
	must(b.t, err)
	defer q.Close()
	if q.Step() {
		n = q.ColumnInt64(0)
	}
	must(b.t, q.Err())
	return n
}

// session opens the database as a session does and lets f change it.
func (b bench) session(f func(s *sqlvfs.Store, ws *sqlvfs.Inode)) {
	b.t.Helper()
	s, err := sqlvfs.Open(b.db, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}})
	must(b.t, err)
	var ws *sqlvfs.Inode
	step(b.t, s, func(tx *sqlvfs.Tx) {
		c, ok, _, err := tx.Child(tx.Root(), "ws")
		must(b.t, err)
		if ok {
			ws, err = tx.Get(c.Ino)
			must(b.t, err)
			return
		}
		st := b.stat(".")
		attr := attrOf(&st)
		attr.Nlink = 2
		ws, err = tx.New(attr)
		must(b.t, err)
		must(b.t, tx.Link(tx.Root(), "ws", ws))
		tx.Root().Attr.Nlink++
		tx.Dirty(tx.Root())
		tx.SetOrigin(ws, b.origin("."))
	})
	f(s, ws)
	must(b.t, s.Close())
}

func (b bench) stat(rel string) (st unix.Stat_t) {
	b.t.Helper()
	must(b.t, unix.Lstat(b.path(rel), &st))
	return st
}

// origin is what a row gets whose content is in a file of the host.
func (b bench) origin(rel string) *sqlvfs.Origin {
	st := b.stat(rel)
	o := &sqlvfs.Origin{Base: "ws", Path: rel, Number: uint64(sqlvfs.MaxIno) + st.Ino, Fingerprint: hostfs.Fingerprint(&st), Mode: st.Mode}
	if kind(st.Mode) == unix.S_IFREG {
		o.Limit = st.Size
	}
	return o
}

// copyUp makes a row for a host object under a name, as a session does before it changes it, and
// lets change have its way with the attributes.
func (b bench) copyUp(s *sqlvfs.Store, dir *sqlvfs.Inode, name, rel string, change func(*sqlvfs.Attr)) *sqlvfs.Inode {
	b.t.Helper()
	st := b.stat(rel)
	attr := attrOf(&st)
	attr.Nlink = 1
	if attr.IsDir() {
		attr.Nlink = 2
	}
	change(&attr)
	in := newRow(b.t, s, dir, name, attr)
	step(b.t, s, func(tx *sqlvfs.Tx) { tx.SetOrigin(in, b.origin(rel)) })
	return in
}

func same(*sqlvfs.Attr) {}

// hide removes a host object from the guest's view, as a session does.
func (b bench) hide(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name, rel string) {
	b.t.Helper()
	must(b.t, tx.SetWhiteout(dir, name))
	b.seen(tx, rel)
}

// seen writes down what the guest has seen of a host object that it hides.
func (b bench) seen(tx *sqlvfs.Tx, rel string) {
	b.t.Helper()
	h, err := openHost(b.ws)
	must(b.t, err)
	defer h.close()
	tree, err := h.tree("ws")
	must(b.t, err)
	st := b.stat(rel)
	tx.AddBaseline(tree, rel, &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(&st)})
}

// tree describes everything below a directory that push and pull carry.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var list strings.Builder
	first := map[object]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&list, "%q %o mtime=%d.%09d", rel, st.Mode, st.Mtim.Sec, st.Mtim.Nsec)
		if os.Geteuid() == 0 {
			fmt.Fprintf(&list, " owner=%d:%d", st.Uid, st.Gid)
		}
		switch kind(st.Mode) {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&list, " size=%d sum=%x", st.Size, sha256.Sum256(data))
			if st.Nlink > 1 {
				if first[objectOf(&st)] == "" {
					first[objectOf(&st)] = rel
				}
				fmt.Fprintf(&list, " links=%d first=%q", st.Nlink, first[objectOf(&st)])
			}
		case unix.S_IFLNK:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&list, " -> %q", target)
		}
		list.WriteByte('\n')
		return nil
	})
	must(t, err)
	return list.String()
}

func wantTree(t testing.TB, dir, want string) {
	t.Helper()
	if got := tree(t, dir); got != want {
		t.Fatalf("tree of %s:\n%swant:\n%s", dir, got, want)
	}
}

// checkRows proves what every reader of the format relies on.
func (b bench) checkRows() {
	b.t.Helper()
	for what, query := range map[string]string{
		"entry without an inode":  `SELECT count(*) FROM fs_dentry WHERE ino NOT IN (SELECT ino FROM fs_inode)`,
		"inode without an entry":  `SELECT count(*) FROM fs_inode WHERE ino<>1 AND ino NOT IN (SELECT ino FROM fs_dentry)`,
		"content without a file":  `SELECT count(*) FROM fs_data WHERE ino NOT IN (SELECT ino FROM fs_inode)`,
		"target without a link":   `SELECT count(*) FROM fs_symlink WHERE ino NOT IN (SELECT ino FROM fs_inode)`,
		"orphan":                  `SELECT count(*) FROM art_orphan WHERE ino NOT IN (SELECT ino FROM fs_inode)`,
		"wrong link count (file)": `SELECT count(*) FROM fs_inode i WHERE mode&61440<>16384 AND nlink<>(SELECT count(*) FROM fs_dentry d WHERE d.ino=i.ino)`,
		"wrong link count (directory)": `SELECT count(*) FROM fs_inode i WHERE mode&61440=16384 AND nlink<>2+(SELECT count(*)
			FROM fs_dentry d JOIN fs_inode c ON c.ino=d.ino WHERE d.parent_ino=i.ino AND c.mode&61440=16384)`,
	} {
		if n := b.count(query); n != 0 {
			b.t.Errorf("%d rows: %s", n, what)
		}
	}
}

func setMtime(t testing.TB, path string, sec, nsec int64) {
	t.Helper()
	ts := []unix.Timespec{{Sec: sec, Nsec: nsec}, {Sec: sec, Nsec: nsec}}
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, ts, unix.AT_SYMLINK_NOFOLLOW))
}

func wantContent(t testing.TB, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("%s: %q, %v; want %q", path, got, err, want)
	}
}

func wantAbsent(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is there (%v)", path, err)
	}
}

var longAgo = time.Unix(1_000_000_000, 123_456_789)
