package writer

import (
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
	go s.writer.Serve(theirs)
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
		if got := s.in.Attr.Mode & 0o777; got != want {
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
		if shows := s.dir.Origin != nil; shows == changed {
			t.Errorf("changed meanwhile %v: it shows the host's: %v", changed, shows)
		}
		must(t, store.Close())
		must(t, c.Close())
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
		go s.writer.Serve(theirs)
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
		FirstIno: 2, Places: []sqlvfs.Place{{Was: sqlvfs.Origin{Base: "ws", Path: "."}, Is: sqlvfs.Origin{Base: "ws", Path: "other"}}},
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &sqlvfs.Changes{}
		if control.Unmarshal(data, c) != nil || c.Check() != nil {
			return
		}
		s := newSession(t)
		_ = fs.Amend(s.store, s.writer.overlays, c) // it may be refused
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
			s.writer.Serve(theirs)
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
