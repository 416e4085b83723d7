package writer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/libexec"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// session is a database with a directory ws, in which is a file.
type session struct {
	testing.TB
	path    string
	store   *sqlvfs.Store
	writer  *Writer
	dir, in *sqlvfs.Inode
}

func newSession(t testing.TB) *session {
	s := &session{TB: t, path: filepath.Join(t.TempDir(), "db")}
	var err error
	s.store, err = sqlvfs.Open(s.path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}})
	must(t, err)
	overlay, err := fs.NewOverlay(fs.OverlayOptions{Store: s.store})
	must(t, err)
	s.writer = New(s.store, overlay)
	must(t, s.store.Update(func(tx *sqlvfs.Tx) (err error) {
		if s.dir, err = tx.New(sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}); err == nil {
			err = tx.Link(tx.Root(), "ws", s.dir)
		}
		tx.Root().Attr.Nlink++
		tx.Dirty(tx.Root())
		if err == nil {
			s.in, err = tx.New(sqlvfs.Attr{Mode: unix.S_IFREG | 0o644, Nlink: 1, Ctime: sqlvfs.Now()})
		}
		if err == nil {
			err = tx.Link(s.dir, "file", s.in)
		}
		return err
	}))
	return s
}

// client connects to the session.
func (s *session) client() *live.Client {
	s.Helper()
	ours, theirs, err := libexec.Socketpair()
	must(s, err)
	go s.writer.Serve(theirs, nil)
	return live.NewClient(ours)
}

func (s *session) beside(c *live.Client) *sqlvfs.Store {
	s.Helper()
	store, err := c.Open(s.path, sqlvfs.Options{})
	must(s, err)
	return store
}

// change changes the file as a program would.
func (s *session) change(mode uint32) {
	s.Helper()
	must(s, s.store.Update(func(tx *sqlvfs.Tx) error {
		s.in.Attr.Mode, s.in.Attr.Ctime = unix.S_IFREG|mode, sqlvfs.Now()
		tx.Dirty(s.in)
		return nil
	}))
}

// attr are the file's attributes, which the writer changes in a goroutine of its own, as origin.
func (s *session) attr() (a sqlvfs.Attr) {
	s.Helper()
	must(s, s.store.View(func(*sqlvfs.Tx) error {
		a = s.in.Attr
		return nil
	}))
	return a
}

func (s *session) origin(in *sqlvfs.Inode) (o *sqlvfs.Origin) {
	s.Helper()
	must(s, s.store.View(func(*sqlvfs.Tx) error {
		o = in.Origin
		return nil
	}))
	return o
}

func (s *session) end() {
	s.Helper()
	must(s, s.store.Close())
	findings, err := fsck.Check(s.path)
	must(s, err)
	for _, f := range findings {
		s.Errorf("check: %v", f)
	}
}

// set changes the file's mode beside the session, and writes down a baseline.
func set(t testing.TB, store *sqlvfs.Store, ino sqlvfs.Ino, mode uint32) {
	t.Helper()
	must(t, store.Update(func(tx *sqlvfs.Tx) error {
		in, err := tx.Get(ino)
		if err != nil {
			return err
		}
		defer tx.Put(in)
		in.Attr.Mode = unix.S_IFREG | mode
		tx.Dirty(in)
		tx.SetBaseline(sqlvfs.Tree{Name: "ws", Ino: 7}, "file", &sqlvfs.Baseline{Mode: in.Attr.Mode, Row: ino, RowCtime: in.Attr.Ctime})
		return nil
	}))
}

// What is decided on beside a session is made where the session has not changed anything since.
func TestAmend(t *testing.T) {
	for _, changed := range []bool{false, true} {
		s := newSession(t)
		c := s.client()
		store := s.beside(c)
		want := uint32(0o600)
		if changed {
			want = 0o640
			s.change(want)
		}
		set(t, store, s.in.Ino, 0o600)
		must(t, store.Sync())
		var base *sqlvfs.Baseline
		must(t, s.store.View(func(tx *sqlvfs.Tx) error {
			all, err := tx.Baselines(sqlvfs.Tree{Name: "ws", Ino: 7})
			base = all["file"]
			return err
		}))
		if got := s.attr().Mode & 0o777; got != want {
			t.Errorf("changed meanwhile %v: the mode is %o", changed, got)
		}
		if base == nil || (base.RowCtime == s.in.Attr.Ctime) == changed {
			t.Errorf("changed meanwhile %v: the baseline is %+v, the change time %v", changed, base, s.in.Attr.Ctime)
		} else if changed && base.Mode&0o777 != 0o644 {
			t.Errorf("the baseline has the mode %o, which the row did not get", base.Mode)
		}
		must(t, store.Close())
		must(t, c.Close())
		s.end()
	}
}

// Of what both have changed of an inode, each attribute is who changed it.
func TestAmendAttributes(t *testing.T) {
	s := newSession(t)
	must(t, s.store.Update(func(tx *sqlvfs.Tx) error { return tx.SetXattr(s.in, "user.both", []byte("before")) }))
	c := s.client()
	store := s.beside(c)
	s.change(0o640)
	must(t, s.store.Update(func(tx *sqlvfs.Tx) error { return tx.SetXattr(s.in, "user.both", []byte("the guest's")) }))
	must(t, store.Update(func(tx *sqlvfs.Tx) error {
		in, err := tx.Get(s.in.Ino)
		must(t, err)
		defer tx.Put(in)
		in.Attr.Mode, in.Attr.UID, in.Attr.GID = unix.S_IFREG|0o600, 7, 8
		tx.Dirty(in)
		must(t, tx.SetXattr(in, "user.host", []byte("the host's")))
		return tx.SetXattr(in, "user.both", []byte("the host's"))
	}))
	must(t, store.Close())
	if a := s.attr(); a.Mode&0o777 != 0o640 || a.UID != 7 || a.GID != 8 {
		t.Errorf("it has the mode %o, and belongs to %d:%d", a.Mode, a.UID, a.GID)
	}
	for name, want := range map[string]string{"user.host": "the host's", "user.both": "the guest's"} {
		got, err := sqlvfs.Query(s.store, func(tx *sqlvfs.Tx) (string, error) {
			value, _, err := tx.Xattr(s.in, name)
			return string(value), err
		})
		if err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	must(t, c.Close())
	s.end()
}

// A file whose content is the host's comes to be where that is now, in whatever version of it the guest has seen it last.
func TestAmendFollowing(t *testing.T) {
	version := func(n int64) sqlvfs.Origin {
		fp := sqlvfs.Fingerprint{Dev: 1, Ino: 2, Size: n, Mtime: sqlvfs.Timespec{Sec: n}, Ctime: sqlvfs.Timespec{Sec: n}}
		return sqlvfs.Origin{Base: "ws", Path: "file", Number: 1 << 52, Fingerprint: fp, Mode: unix.S_IFREG | 0o644, Limit: n}
	}
	refer := func(tx *sqlvfs.Tx, in *sqlvfs.Inode, o sqlvfs.Origin) {
		in.Attr.Size, in.Attr.Mtime = o.Size, o.Mtime
		tx.SetOrigin(in, &o)
	}
	for _, changed := range []bool{false, true} {
		s := newSession(t)
		must(t, s.store.Update(func(tx *sqlvfs.Tx) error {
			refer(tx, s.in, version(10))
			return nil
		}))
		c := s.client()
		store := s.beside(c)
		must(t, s.store.Update(func(tx *sqlvfs.Tx) error {
			refer(tx, s.in, version(20))
			return nil
		}))
		if changed {
			s.change(0o640)
		}
		must(t, store.Update(func(tx *sqlvfs.Tx) error {
			in, err := tx.Get(s.in.Ino)
			must(t, err)
			defer tx.Put(in)
			o := version(30)
			o.Path = "renamed"
			refer(tx, in, o)
			return nil
		}))
		must(t, store.Close())
		if o, a := s.origin(s.in), s.attr(); o.Path != "renamed" || o.Limit != 30 || a.Size != 30 || a.Mtime.Sec != 30 {
			t.Errorf("its mode changed meanwhile %v: it is %+v, and has %d bytes of %v", changed, o, a.Size, a.Mtime)
		}
		must(t, c.Close())
		s.end()
	}
}

// A directory comes to show the host's only if it is as it was: names that are gone since would show again.
func TestAmendDirectory(t *testing.T) {
	for _, changed := range []bool{false, true} {
		s := newSession(t)
		c := s.client()
		store := s.beside(c)
		if changed {
			must(t, s.store.Update(func(tx *sqlvfs.Tx) error {
				s.dir.Attr.Ctime = sqlvfs.Now()
				tx.Dirty(s.dir)
				s.in.Attr.Nlink = 0
				tx.Dirty(s.in)
				return tx.Unlink(s.dir, "file")
			}))
		}
		must(t, store.Update(func(tx *sqlvfs.Tx) error {
			in, err := tx.Get(s.dir.Ino)
			if err != nil {
				return err
			}
			defer tx.Put(in)
			tx.SetOrigin(in, &sqlvfs.Origin{Base: "ws", Path: "."})
			return nil
		}))
		must(t, store.Sync())
		if shows := s.origin(s.dir) != nil; shows == changed {
			t.Errorf("changed meanwhile %v: it shows the host's: %v", changed, shows)
		}
		must(t, store.Close())
		must(t, c.Close())
		s.end()
	}
}

// Directories may be removed before what is in them, as entries come.
func TestAmendRemovesTree(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		s := newSession(t)
		var sub *sqlvfs.Inode
		must(t, s.store.Update(func(tx *sqlvfs.Tx) (err error) {
			if sub, err = tx.New(sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}); err != nil {
				return err
			}
			tx.Dirty(sub)
			s.dir.Attr.Nlink++
			tx.Dirty(s.dir)
			return tx.Link(s.dir, "sub", sub)
		}))
		all := []sqlvfs.EntryChange{
			{Dir: sqlvfs.RootIno, Name: "ws", Was: s.dir.Ino}, {Dir: s.dir.Ino, Name: "sub", Was: sub.Ino},
			{Dir: s.dir.Ino, Name: "file", Was: s.in.Ino, WasCtime: s.attr().Ctime},
		}
		c := &sqlvfs.Changes{FirstIno: 10}
		for _, i := range order {
			c.Entries = append(c.Entries, all[i])
		}
		must(t, c.Check())
		k := s.store.NewIntake()
		must(t, k.Take(c))
		must(t, fs.Amend(s.store, s.writer.overlays, c, k))
		k.Drop()
		must(t, s.store.View(func(*sqlvfs.Tx) error {
			if s.dir.Attr.Nlink != 0 || sub.Attr.Nlink != 0 {
				t.Errorf("of directories that are removed, %d and %d links are left", s.dir.Attr.Nlink, sub.Attr.Nlink)
			}
			return nil
		}))
		s.end()
	}
}

// A store beside the session shows one commit.
func TestBesideShowsOneCommit(t *testing.T) {
	s := newSession(t)
	c := s.client()
	store := s.beside(c)
	before, err := sqlvfs.Query(store, (*sqlvfs.Tx).Snapshot)
	must(t, err)
	s.change(0o400)
	must(t, s.store.Sync())
	after, err := sqlvfs.Query(store, (*sqlvfs.Tx).Snapshot)
	must(t, err)
	if a, b := before.Node(s.in.Ino).Attr, after.Node(s.in.Ino).Attr; a != b {
		t.Errorf("%+v became %+v", a, b)
	}
	must(t, store.Close())
	must(t, c.Close())
	s.end()
}

// Who goes without a word holds nothing up, whatever was asked for.
func TestClientGoes(t *testing.T) {
	s := newSession(t)
	for _, verb := range []control.Verb{control.Freeze, control.Hold} {
		ours, theirs, err := libexec.Socketpair()
		must(t, err)
		go s.writer.Serve(theirs, nil)
		must(t, control.SendRequest(ours, -1, control.Request{Verb: verb}))
		a, _, err := control.ReceiveRequest(ours)
		if err != nil || a.Verb != control.Done {
			t.Fatalf("%v: %+v, %v", verb, a, err)
		}
		must(t, ours.Close())
		s.change(0o600)
		must(t, s.store.Sync())
	}
	s.end()
}

// FuzzChanges makes changes of any kind: the database stays sound.
func FuzzChanges(f *testing.F) {
	now := sqlvfs.Now()
	was := sqlvfs.Attr{Mode: unix.S_IFREG | 0o644, Nlink: 1}
	is := was
	is.Mode = unix.S_IFREG | 0o600
	f.Add(control.Marshal(&sqlvfs.Changes{
		Inodes: []sqlvfs.InodeChange{
			{Ino: 3, Was: was, Is: is},
			{Ino: 2, Was: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: 2}, Is: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o700, Nlink: 2}, SetOrigin: true, IsOrigin: []sqlvfs.Origin{{Base: "ws", Path: "."}}},
		},
		Whiteouts:  []sqlvfs.NameChange{{Dir: 2, Name: "gone"}, {Dir: 2, Name: "there", Gone: true}},
		Xattrs:     []sqlvfs.XattrChange{{Ino: 3, Name: "user.x", Value: []byte("y")}},
		Baselines:  []sqlvfs.BaselineChange{{Tree: sqlvfs.Tree{Name: "ws", Birth: now}, Path: "file", Baseline: sqlvfs.Baseline{Mode: was.Mode, Row: 3, RowCtime: now}}},
		SetJournal: true, Journal: [][]byte{[]byte("{}")},
		Contents: []sqlvfs.Content{{Ino: 5, Data: []byte("new")}},
		Made: []sqlvfs.MadeInode{
			{Ino: 4, Attr: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755}, Origin: []sqlvfs.Origin{{Base: "ws", Path: "dir", Number: 4}}},
			{Ino: 5, Attr: sqlvfs.Attr{Mode: unix.S_IFREG | 0o644, Size: 3}},
			{Ino: 6, Attr: sqlvfs.Attr{Mode: unix.S_IFLNK | 0o777}, Target: "file"},
		},
		Entries:  []sqlvfs.EntryChange{{Dir: 2, Name: "dir", Is: 4}, {Dir: 4, Name: "new", Is: 5}, {Dir: 2, Name: "file", Was: 3, Is: 6}},
		FirstIno: 4, Places: []sqlvfs.Place{{Tree: sqlvfs.Tree{Name: "ws", Birth: now}, Was: sqlvfs.Origin{Base: "ws", Path: "."}, Is: sqlvfs.Origin{Base: "ws", Path: "other"}}},
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &sqlvfs.Changes{}
		if control.Unmarshal(data, c) != nil || c.Check() != nil {
			return
		}
		s := newSession(t)
		k := s.store.NewIntake()
		if k.Take(c) == nil {
			_ = fs.Amend(s.store, s.writer.overlays, c, k) // it may be refused
		}
		k.Drop()
		s.end()
	})
}

// FuzzServe sends a session anything.
func FuzzServe(f *testing.F) {
	for verb := range control.Verb(8) {
		f.Add(control.Marshal(&control.Request{Version: control.WriterVersion, Verb: verb}), []byte{})
	}
	f.Fuzz(func(t *testing.T, data, file []byte) {
		if len(data) == 0 || len(data) > 60<<10 {
			return
		}
		s := newSession(t)
		ours, theirs, err := libexec.Socketpair()
		must(t, err)
		served := make(chan bool)
		go func() {
			s.writer.Serve(theirs, nil)
			close(served)
		}()
		fd := -1
		if len(file) > 0 {
			f, err := os.CreateTemp(t.TempDir(), "")
			must(t, err)
			defer f.Close()
			_, err = f.Write(file)
			must(t, err)
			fd = int(f.Fd())
		}
		must(t, libexec.SendFD(ours, fd, data))
		must(t, ours.Close())
		<-served
		s.end()
	})
}

// A session that ends serves no client any more, whatever that has under way, and tells none that its changes are durable.
func TestEndOfTheSession(t *testing.T) {
	s := newSession(t)
	c := s.client()
	store := s.beside(c)
	set(t, store, s.in.Ino, 0o600)
	s.writer.End()
	if err := store.Sync(); !errors.Is(err, live.ErrGone) {
		t.Errorf("changes that come later: %v", err)
	}
	late := s.client()
	if _, err := late.Open(s.path, sqlvfs.Options{}); !errors.Is(err, live.ErrGone) {
		t.Errorf("who comes later: %v", err)
	}
	store.Close()
	s.end()
	if err := s.store.Sync(); !errors.Is(err, sqlvfs.ErrClosed) {
		t.Errorf("a sync of what is closed: %v", err)
	}
}

// Who is not answered knows whether what was asked for may have been done.
func TestUnanswered(t *testing.T) {
	ask := func(serve func(sock *os.File)) error {
		ours, theirs, err := libexec.Socketpair()
		must(t, err)
		c := live.NewClient(ours)
		defer c.Close()
		go func() {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(theirs.Fd()), Events: unix.POLLIN}}, -1)
			serve(theirs)
			theirs.Close()
		}()
		_, err = c.Undo()
		return err
	}
	err := ask(func(sock *os.File) { _, _, _ = control.ReceiveRequest(sock) })
	if !errors.Is(err, live.ErrUnanswered) {
		t.Errorf("a session that has read it, and ends: %v", err)
	}
	if err = ask(func(*os.File) {}); !errors.Is(err, live.ErrGone) || errors.Is(err, live.ErrUnanswered) {
		t.Errorf("a session that has not read it, and ends: %v", err)
	}
	s := newSession(t)
	s.writer.End()
	c := s.client()
	if _, err := c.Undo(); !errors.Is(err, live.ErrGone) || errors.Is(err, live.ErrUnanswered) {
		t.Errorf("a session that is about to end: %v", err)
	}
	c.Close()
	s.end()
}

// As many paths go back as somebody names.
func TestRewindManyPaths(t *testing.T) {
	s := newSession(t)
	c := s.client()
	id, err := c.Checkpoint("before")
	must(t, err)
	s.change(0o600)
	paths := make([]string, 20_000)
	for i := range paths {
		paths[i] = "ws/file"
	}
	_, err = c.Rewind(fmt.Sprint(id), paths, nil)
	must(t, err)
	if mode := s.attr().Mode; mode&0o777 != 0o644 {
		t.Errorf("mode %o", mode)
	}
	c.Close()
	s.end()
}

// Whatever entries are asked for, the database stays sound: no directory is below itself, and nothing has no name.
func TestRandomEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	valid, done, most := 0, 0, 300
	if testing.Short() {
		most = 50
	}
	for valid < most {
		c := &sqlvfs.Changes{FirstIno: 4}
		ino := func(n int) sqlvfs.Ino { return sqlvfs.Ino(random.IntN(n)) }
		for i := range sqlvfs.Ino(random.IntN(5)) {
			m := sqlvfs.MadeInode{Ino: 4 + i, Attr: sqlvfs.Attr{Mode: unix.S_IFDIR | 0o755, Nlink: uint32(random.IntN(4))}}
			switch random.IntN(3) {
			case 0:
				m.Attr.Mode, m.Attr.Size = unix.S_IFREG|0o644, int64(random.IntN(100_000))
				c.Contents = append(c.Contents, sqlvfs.Content{Ino: m.Ino, Off: int64(random.IntN(1000)), Data: []byte("content")})
			case 1:
				m.Attr.Mode, m.Target = unix.S_IFLNK|0o777, "file"
			}
			c.Made = append(c.Made, m)
			c.Entries = append(c.Entries, sqlvfs.EntryChange{Dir: 1 + ino(8), Name: fmt.Sprint("new", random.IntN(3)), Is: m.Ino})
		}
		for range random.IntN(4) {
			c.Entries = append(c.Entries, sqlvfs.EntryChange{Dir: 1 + ino(8), Name: []string{"file", "ws", "new0"}[random.IntN(3)], Was: ino(4), Is: ino(8)})
		}
		if c.Check() != nil {
			continue
		}
		valid++
		s := newSession(t)
		for i := range c.Entries {
			if e := &c.Entries[i]; e.Was == s.in.Ino {
				e.WasCtime = s.attr().Ctime
			}
		}
		k := s.store.NewIntake()
		must(t, k.Take(c))
		if fs.Amend(s.store, s.writer.overlays, c, k) == nil {
			done++
		}
		k.Drop()
		if s.end(); t.Failed() {
			t.Fatalf("%+v", c)
		}
	}
	t.Logf("%d of %d were done", done, valid)
}
