package sqlvfs

import (
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

var born = Timespec{Sec: 1700000000, Nsec: 123456789}

// createAt makes a file in the root, all of whose times are those of its birth.
func createAt(t testing.TB, s *Store, name string) *Inode {
	t.Helper()
	var in *Inode
	step(s, func(tx *Tx) {
		var err error
		in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1, Atime: born, Mtime: born, Ctime: born})
		must(t, err)
		must(t, tx.Link(tx.Root(), name, in))
	})
	return in
}

// setTimes changes all times of an inode.
func setTimes(s *Store, in *Inode, to int64) {
	step(s, func(tx *Tx) {
		in.Attr.Atime, in.Attr.Mtime, in.Attr.Ctime = Timespec{Sec: to}, Timespec{Sec: to}, Now()
		tx.Dirty(in)
	})
}

func isBorn(t testing.TB, s *Store, in *Inode, want Timespec) {
	t.Helper()
	step(s, func(tx *Tx) {
		if got, ok, err := tx.Birth(in); !ok || err != nil || got != want {
			t.Errorf("inode %d was born at %v, %v, %v instead of %v", in.Ino, got, ok, err, want)
		}
	})
}

// When a file was made stays, whatever its times become, before and after it is stored, and in other sessions. Only what its row
// does not tell has a row of its own.
func TestBirthStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	plain, early, late, later := createAt(t, s, "plain"), createAt(t, s, "early"), createAt(t, s, "late"), createAt(t, s, "later")
	setTimes(s, early, 5)
	must(t, s.Sync())
	if n := count(t, s, "SELECT count(*) FROM art_birth"); n != 1 {
		t.Errorf("%d of 4 files have a row", n)
	}
	setTimes(s, late, 6)
	all := []*Inode{plain, early, late, later}
	for _, in := range all {
		isBorn(t, s, in, born)
		put(s, in)
	}
	must(t, s.Close())

	s = openTest(t, path)
	later = lookup(t, s, "later")
	setTimes(s, later, 7)
	isBorn(t, s, later, born) // asked while the change waits
	put(s, later)
	plain = lookup(t, s, "plain")
	setTimes(s, plain, 8) // and not asked
	must(t, s.Sync())
	setTimes(s, plain, 9)
	put(s, plain)
	must(t, s.Close())

	s = openTest(t, path)
	for _, name := range []string{"plain", "early", "late", "later"} {
		in := lookup(t, s, name)
		isBorn(t, s, in, born)
		put(s, in)
	}
	must(t, s.Close())
	must(t, checkClean(path))
}

// The row goes with the inode: at once, when the last reference ends, and when the database is opened next.
func TestBirthEndsWithTheInode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	gone, open := createAt(t, s, "gone"), createAt(t, s, "open")
	for _, in := range []*Inode{gone, open} {
		setTimes(s, in, 5)
	}
	put(s, gone)
	must(t, s.Sync())
	for _, name := range []string{"gone", "open"} {
		in := lookup(t, s, name)
		step(s, func(tx *Tx) {
			must(t, tx.Unlink(tx.Root(), name))
			in.Attr.Nlink = 0
			tx.Dirty(in)
			tx.Put(in)
		})
	}
	must(t, s.Sync())
	isBorn(t, s, open, born)
	if n := count(t, s, "SELECT count(*) FROM art_birth"); n != 1 {
		t.Errorf("%d rows while one file is open", n)
	}
	put(s, open)
	must(t, s.Sync())
	if n := count(t, s, "SELECT count(*) FROM art_birth"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	must(t, s.Close())
	alter(t, path, "INSERT INTO art_orphan VALUES (99); INSERT INTO art_birth VALUES (99, 5)")
	s = openTest(t, path)
	if n := count(t, s, "SELECT count(*) FROM art_birth"); n != 0 {
		t.Errorf("%d rows are left of what was open when a session was killed", n)
	}
	must(t, s.Close())
}

// A file of an earlier session that is removed while it is open was made when it was made.
func TestBirthOfWhatIsRemovedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	in := createAt(t, s, "open")
	put(s, in)
	must(t, s.Close())

	s = openTest(t, path)
	in = lookup(t, s, "open")
	step(s, func(tx *Tx) {
		must(t, tx.Unlink(tx.Root(), "open"))
		in.Attr.Nlink, in.Attr.Ctime = 0, Now()
		tx.Dirty(in)
	})
	must(t, s.Sync())
	setTimes(s, in, Now().Sec) // as who reads it does
	isBorn(t, s, in, born)
	put(s, in)
	must(t, s.Sync())
	if n := count(t, s, "SELECT count(*) FROM art_birth"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	must(t, s.Close())
	must(t, checkClean(path))
}

// A file that had no name is kept with its birth once it has one.
func TestBirthOfWhatGetsItsNameLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	var in *Inode
	step(s, func(tx *Tx) {
		var err error
		in, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Atime: born, Mtime: born, Ctime: born})
		must(t, err)
	})
	setTimes(s, in, 5)
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		in.Attr.Nlink = 1
		must(t, tx.Link(tx.Root(), "f", in))
		tx.Dirty(in)
		tx.Put(in)
	})
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	defer s.Close()
	in = lookup(t, s, "f")
	defer put(s, in)
	isBorn(t, s, in, born)
}

// Nothing is claimed of what an older layout has stored, before and after it is brought up to date.
func TestBirthBeforeLayout5(t *testing.T) {
	for layout := 1; layout < 5; layout++ {
		path := fixture(t, layout)
		for _, opt := range []Options{{ReadOnly: true}, {}, {ReadOnly: true}} {
			s, err := Open(path, opt)
			must(t, err)
			in := lookup(t, s, "file")
			step(s, func(tx *Tx) {
				if got, ok, err := tx.Birth(in); ok || err != nil {
					t.Errorf("layout %d, %+v: born at %v, %v", layout, opt, got, err)
				}
			})
			if !opt.ReadOnly {
				setTimes(s, in, 5)
			}
			put(s, in)
			must(t, s.Close())
		}
	}
}

// What a copy-up says counts, also that it is not known.
func TestBirthOfAnOriginsObject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	known, unknown := createAt(t, s, "known"), createAt(t, s, "unknown")
	step(s, func(tx *Tx) {
		tx.SetBirth(known, Timespec{Sec: -3, Nsec: 7}, true)
		tx.SetBirth(unknown, Timespec{}, false)
		tx.Put(known)
		tx.Put(unknown)
	})
	must(t, s.Close())
	s = openTest(t, path)
	defer s.Close()
	known, unknown = lookup(t, s, "known"), lookup(t, s, "unknown")
	isBorn(t, s, known, Timespec{Sec: -3, Nsec: 7})
	step(s, func(tx *Tx) {
		if _, ok, err := tx.Birth(unknown); ok || err != nil {
			t.Errorf("known: %v, %v", ok, err)
		}
		tx.Put(known)
		tx.Put(unknown)
	})
}

// BenchmarkCreate makes files as tar and git do, short and with all times as they come.
func BenchmarkCreate(b *testing.B) {
	s := openTest(b, filepath.Join(memoryDir(b), "a.db"))
	defer s.Close()
	content := make([]byte, 2000)
	b.ResetTimer()
	for i := range b.N {
		step(s, func(tx *Tx) {
			now := Now()
			in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1, Atime: now, Mtime: now, Ctime: now})
			must(b, err)
			must(b, tx.Link(tx.Root(), strconv.Itoa(i), in))
			must(b, tx.WriteAt(in, content, 0, Now()))
			tx.Put(in)
		})
	}
	must(b, s.Sync())
}
