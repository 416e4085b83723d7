package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
)

// session is an overlay over a base directory, with the words of a story.
type session struct {
	inProcess
	t *testing.T
}

func newSession(t *testing.T) *session {
	s := &session{inProcess{base: t.TempDir(), db: filepath.Join(t.TempDir(), "a.db")}, t}
	s.begin(t)
	s.plus = true
	t.Cleanup(func() {
		s.end()
		sound(t, s.db)
	})
	return s
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// plant makes a file in the base, and the directories that it is in.
func (s *session) plant(path string, data []byte) {
	s.t.Helper()
	path = filepath.Join(s.base, path)
	s.must(os.MkdirAll(filepath.Dir(path), 0o755))
	s.must(os.WriteFile(path, data, 0o644))
}

func (s *session) write(path string, data []byte, off int64) {
	s.t.Helper()
	f, err := s.open(path, unix.O_RDWR|unix.O_CREAT, 0o644)
	s.must(err)
	defer f.Release()
	s.must(f.WriteAt(data, off))
}

func (s *session) reads(path string, want []byte) {
	s.t.Helper()
	got, err := content(s, path, 1<<17)
	if err != nil {
		s.t.Fatalf("read %s: %v", path, err)
	}
	if !bytes.Equal(got, want) {
		s.t.Fatalf("%s: %s", path, difference(got, want))
	}
}

func (s *session) stat(path string) Entry {
	s.t.Helper()
	e, err := s.lstat(path)
	if err != nil {
		s.t.Fatalf("lstat %s: %v", path, err)
	}
	return e
}

func (s *session) missing(path string) {
	s.t.Helper()
	if _, err := s.lstat(path); err != syscall.ENOENT {
		s.t.Errorf("%s: %v, want %v", path, err, syscall.ENOENT)
	}
}

func (s *session) names(path string) string {
	s.t.Helper()
	all, err := s.readdir(path, 100, func([]DirEntry) {})
	s.must(err)
	var names []string
	for _, e := range all[2:] {
		names = append(names, e.Name)
	}
	slices.Sort(names) // a directory lists them in no order
	return strings.Join(names, " ")
}

// rows counts rows of the database as it is on the disk.
func (s *session) rows(table string) int {
	s.t.Helper()
	s.must(s.store.Sync())
	return rows(s.t, s.db, table)
}

func rows(t rapid.TB, db, table string) int {
	t.Helper()
	c, err := sqlite3.OpenFlags(db, sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	q, _, err := c.Prepare("SELECT count(*) FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if !q.Step() {
		t.Fatal(q.Err())
	}
	return q.ColumnInt(0)
}

func (s *session) wantRows(want map[string]int) {
	s.t.Helper()
	for table, n := range want {
		if got := s.rows(table); got != n {
			s.t.Errorf("%s has %d rows, want %d", table, got, n)
		}
	}
}

func TestReadingAddsNoRows(t *testing.T) {
	s := newSession(t)
	s.plant("d/f", noise[:300_000])
	s.reads("ws/d/f", noise[:300_000])
	f, err := s.open("ws/d/f", unix.O_RDWR, 0) // not a write yet
	s.must(err)
	f.Release()
	s.names("ws/d")
	s.wantRows(map[string]int{"fs_inode": 1, "fs_dentry": 0, "fs_data": 0, "fs_origin": 0})
}

func TestChangedAttributesCopyNoContent(t *testing.T) {
	s := newSession(t)
	s.plant("f", noise[:300_000])
	mode := uint32(0o600)
	s.must(s.setattr("ws/f", SetAttr{Mode: &mode}))
	s.must(s.setattr("ws/f", SetAttr{Mtime: &sqlvfs.Timespec{Sec: 7, Nsec: 8}}))
	s.must(s.link("ws/f", "ws/g"))
	s.wantRows(map[string]int{"fs_inode": 3, "fs_data": 0}) // the root, the workspace, the file
	s.remount(s.t)
	s.reads("ws/f", noise[:300_000])
	e := s.stat("ws/g")
	if e.Attr.Mode != syscall.S_IFREG|0o600 || e.Attr.Mtime != (sqlvfs.Timespec{Sec: 7, Nsec: 8}) || e.Attr.Nlink != 2 {
		t.Errorf("attributes %+v", e.Attr)
	}
}

func TestOneByteOfALargeFileIsOneChunk(t *testing.T) {
	s := newSession(t)
	data := bytes.Repeat(noise, 10)
	s.plant("big", data)
	s.write("ws/big", []byte{data[5_000_000] ^ 1}, 5_000_000)
	s.wantRows(map[string]int{"fs_inode": 3, "fs_data": 1})
	s.remount(s.t)
	want := bytes.Clone(data)
	want[5_000_000] ^= 1
	s.reads("ws/big", want)
	if got, err := os.ReadFile(filepath.Join(s.base, "big")); err != nil || !bytes.Equal(got, data) {
		t.Error("the base has changed")
	}
}

func TestRenamedBaseDirectoryIsOneRowAndOneWhiteout(t *testing.T) {
	s := newSession(t)
	for i := range 200 {
		s.plant(fmt.Sprintf("d/%d/f", i), noise[i:i+100])
	}
	s.must(s.rename("ws/d", "ws/e"))
	s.wantRows(map[string]int{"fs_inode": 3, "fs_dentry": 2, "art_whiteout": 1, "fs_data": 0})
	for range 2 {
		s.missing("ws/d")
		s.reads("ws/e/7/f", noise[7:107])
		if n := len(strings.Fields(s.names("ws/e"))); n != 200 {
			t.Errorf("%d entries, want 200", n)
		}
		s.remount(s.t)
	}
}

func TestDirectoryMadeAgainIsEmpty(t *testing.T) {
	for name, remove := range map[string]func(*session){
		"removed": func(s *session) {
			s.must(s.unlink("ws/d/f"))
			s.must(s.rmdir("ws/d"))
		},
		"renamed": func(s *session) { s.must(s.rename("ws/d", "ws/x")) },
		"replaced": func(s *session) {
			s.must(s.unlink("ws/d/f"))
			s.must(s.mkdir("ws/x", 0o755))
			s.must(s.rename("ws/x", "ws/d"))
			s.must(s.rmdir("ws/d"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.plant("d/f", []byte("old"))
			remove(s)
			s.must(s.mkdir("ws/d", 0o755))
			for range 2 {
				if got := s.names("ws/d"); got != "" {
					t.Errorf("it holds %s", got)
				}
				s.missing("ws/d/f")
				s.remount(s.t)
			}
		})
	}
}

func TestWhiteoutsMoveWithTheirDirectory(t *testing.T) {
	s := newSession(t)
	s.plant("p/d/gone", nil)
	s.plant("p/d/stays", nil)
	s.must(s.unlink("ws/p/d/gone"))
	s.must(s.rename("ws/p/d", "ws/p/e"))
	s.must(s.rename("ws/p", "q"))
	for range 2 {
		if got := s.names("q/e"); got != "stays" {
			t.Errorf("q/e holds %q", got)
		}
		s.missing("q/e/gone")
		s.missing("ws/p")
		s.remount(s.t)
	}
}

// The kernel may hold on to a removed directory to the end of the session, and then nobody tidies up.
func TestRemovedDirectoryLeavesNoWhiteouts(t *testing.T) {
	s := newSession(t)
	s.plant("d/f", nil)
	s.must(s.unlink("ws/d/f"))
	s.wantRows(map[string]int{"art_whiteout": 1})
	s.must(s.rmdir("ws/d"))
	s.wantRows(map[string]int{"art_whiteout": 1, "art_orphan": 1}) // of d, in ws
	s.remount(t)
	s.missing("ws/d")
}

func TestHardLinksOfTheBaseAreOneInode(t *testing.T) {
	s := newSession(t)
	s.plant("a", []byte("content"))
	s.must(os.Link(filepath.Join(s.base, "a"), filepath.Join(s.base, "b")))
	before := s.stat("ws/b").Ino
	s.write("ws/a", []byte("CON"), 0)
	for range 2 {
		s.reads("ws/b", []byte("CONtent"))
		a, b := s.stat("ws/a"), s.stat("ws/b")
		if a.Ino != before || b.Ino != before || a.Attr.Nlink != 2 {
			t.Errorf("inodes %d and %d with %d links, want %d twice", a.Ino, b.Ino, a.Attr.Nlink, before)
		}
		s.remount(s.t)
	}
	s.must(s.unlink("ws/a"))
	for range 2 {
		s.reads("ws/b", []byte("CONtent"))
		if e := s.stat("ws/b"); e.Attr.Nlink != 1 || e.Ino != before {
			t.Errorf("inode %d with %d links, want %d with 1", e.Ino, e.Attr.Nlink, before)
		}
		s.remount(s.t)
	}
	s.must(s.unlink("ws/b"))
	s.remount(s.t)
	if got := s.names("ws"); got != "" {
		t.Errorf("ws holds %s", got)
	}
	s.wantRows(map[string]int{"fs_inode": 2, "fs_data": 0})
}

func TestUnlinkedNameOfAnUntouchedLinkLeavesTheCountRight(t *testing.T) {
	s := newSession(t)
	s.plant("a", []byte("content"))
	s.must(os.Link(filepath.Join(s.base, "a"), filepath.Join(s.base, "b")))
	s.must(s.unlink("ws/a"))
	for range 2 {
		s.missing("ws/a")
		if e := s.stat("ws/b"); e.Attr.Nlink != 1 {
			t.Errorf("%d links, want 1", e.Attr.Nlink)
		}
		s.reads("ws/b", []byte("content"))
		s.remount(s.t)
	}
}

// tick is longer than the clock for file times stands still, 4 or 10 ms (CONFIG_HZ): before Linux 6.13,
// and on some file systems still, two changes in that time can be one to look at
// (Documentation/filesystems/multigrain-ts.rst).
const tick = 20 * time.Millisecond

// A file of which the database holds a part needs the rest as it was. When the host has changed it,
// reading must fail, whether the file is opened before or after, and whatever is read.
func TestChangedBaseOfAPartlyCopiedFileIsAnError(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"written in place": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte("changed"), 200_000)
			return err
		},
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", noise[1:300_001], 0o644), os.Rename(path+"2", path))
		},
		"cut":     func(path string) error { return os.Truncate(path, 10) },
		"removed": os.Remove,
		"made a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.plant("f", noise[:300_000])
			s.write("ws/f", []byte("mine"), 0)
			open, err := s.open("ws/f", unix.O_RDWR, 0)
			s.must(err)
			time.Sleep(tick)
			s.must(change(filepath.Join(s.base, "f")))
			for _, when := range []string{"same session", "next session"} {
				if got, err := content(s, "ws/f", 1<<17); err != syscall.EIO && err != syscall.ESTALE {
					t.Errorf("%s: read %d bytes, %v", when, len(got), err)
				}
				if s.logged.Len() == 0 {
					t.Errorf("%s: no one was told", when)
				}
				if when == "next session" {
					break
				}
				// One that is open fails too, or never mixes.
				want := append([]byte("mine"), noise[4:300_000]...)
				if got, err := readAll(open, 1<<17); err == nil && !bytes.Equal(got, want) {
					t.Errorf("open file: %s", difference(got, want))
				}
				open.Release()
				s.logged.Reset()
				s.remount(s.t)
			}
		})
	}
}

func TestChangedBaseOfAWholeFileDoesNotMatter(t *testing.T) {
	s := newSession(t)
	s.plant("small", []byte("content"))
	s.plant("cut", noise[:300_000])
	s.write("ws/small", []byte("C"), 0)
	zero := int64(0)
	s.must(s.setattr("ws/cut", SetAttr{Size: &zero}))
	s.plant("small", []byte("the host's"))
	s.must(os.Remove(filepath.Join(s.base, "cut")))
	for range 2 {
		s.reads("ws/small", []byte("Content"))
		s.reads("ws/cut", nil)
		s.remount(s.t)
	}
}

func TestHostChangesOfUntouchedObjectsShow(t *testing.T) {
	s := newSession(t)
	s.plant("d/f", []byte("one"))
	s.plant("d/old", nil)
	s.reads("ws/d/f", []byte("one"))
	s.must(s.mkdir("ws/d/mine", 0o755)) // the directory itself has a row now
	s.plant("d/f", []byte("two, longer"))
	s.plant("d/new", []byte("new"))
	s.must(os.Remove(filepath.Join(s.base, "d/old")))
	s.reads("ws/d/f", []byte("two, longer"))
	if e := s.stat("ws/d/f"); e.Attr.Size != 11 || e.AttrTTL > BaseTTL {
		t.Errorf("size %d for %v", e.Attr.Size, e.TTL)
	}
	s.reads("ws/d/new", []byte("new"))
	s.missing("ws/d/old")
	if got := s.names("ws/d"); got != "f mine new" {
		t.Errorf("ws/d holds %s", got)
	}
}

// A push makes the workspace's directory without an origin; it is laid over the host's all the same,
// and takes it along when it is renamed.
func TestPushedWorkspaceShowsTheHosts(t *testing.T) {
	s := newSession(t)
	s.plant("d/f", []byte("the host's"))
	s.must(s.store.Update(func(db *sqlvfs.Tx) error {
		in, err := db.New(sqlvfs.Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
		if err != nil {
			return err
		}
		defer db.Put(in)
		return db.Link(db.Root(), workspace, in)
	}))
	s.remount(t)
	s.reads("ws/d/f", []byte("the host's"))
	s.must(s.rename("ws", "moved"))
	for range 2 {
		s.reads("moved/d/f", []byte("the host's"))
		s.missing("ws")
		s.remount(t)
	}
}

func TestDirectoryInTheWorkspacesPlaceIsOpaque(t *testing.T) {
	s := newSession(t)
	s.plant("f", nil)
	s.must(s.unlink("ws/f"))
	s.must(s.mkdir("new", 0o755))
	s.must(s.rename("new", "ws"))
	for range 2 {
		if got := s.names("ws"); got != "" {
			t.Errorf("ws holds %s", got)
		}
		s.remount(t)
	}
}

// Reading leaves no trace on the host, not even an access time.
func TestReadingMovesNoTimesOfTheBase(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "d/f", []byte("content"))
	old := unix.Timespec{Sec: 1e9}
	paths := []string{m.base + "/d/f", m.base + "/d"}
	for _, path := range paths {
		m.must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{old, old}, 0))
	}
	m.reads(t, "ws/d/f", []byte("content"))
	if got := m.names(t, "ws/d"); got != "f" {
		t.Errorf("the directory lists %q", got)
	}
	for _, path := range paths {
		var st unix.Stat_t
		m.must(t, unix.Stat(path, &st))
		if st.Atim != old {
			t.Errorf("%s was accessed at %v", path, st.Atim)
		}
	}
}

// A new file may get the inode number of a hidden one that is gone, and must not be hidden for it.
func TestHiddenFilesNumbersStayTheirs(t *testing.T) {
	base := t.TempDir()
	secret := filepath.Join(base, "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := OpenHost(base, secret)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		name := fmt.Sprint("new", i)
		if err := os.WriteFile(filepath.Join(base, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := host.Lstat(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A row that says of an origin that it is longer than the host's file of that version is an error to who needs the rest,
// also where that is found out in the middle of a change.
func TestOriginThatIsShorterThanItsRowSays(t *testing.T) {
	s := newSession(t)
	s.plant("f", []byte("ten bytes."))
	path := workspace + "/f"
	ino, private := s.stat(path).Ino, uint32(0o600)
	_, err := s.overlay.Setattr(Caller{}, ino, SetAttr{Mode: &private})
	s.must(err)
	s.must(s.overlay.view(func(x *tx) error {
		in := x.nodes[ino].in
		in.Attr.Size = 200_000
		o := *in.Origin
		o.Limit = in.Attr.Size
		x.db.SetOrigin(in, &o)
		return nil
	}))
	size, mode := int64(150_001), uint32(0o640)
	for what, change := range map[string]func() error{
		"read":  func() error { _, err := s.overlay.Read(ino, make([]byte, 10), 100); return err },
		"write": func() error { return s.overlay.Write(Caller{}, ino, []byte("x"), 70_000) },
		"truncate": func() error {
			_, err := s.overlay.Setattr(Caller{}, ino, SetAttr{Size: &size, Mode: &mode})
			return err
		},
		"zero": func() error {
			return s.overlay.Allocate(Caller{}, ino, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 70_000, 10)
		},
	} {
		if err := change(); !errors.Is(err, sqlvfs.ErrBaseChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if e := s.stat(path); e.Attr.Size != 200_000 || e.Attr.Mode != syscall.S_IFREG|0o600 {
		t.Errorf("it has %d bytes and mode %o", e.Attr.Size, e.Attr.Mode)
	}
}
