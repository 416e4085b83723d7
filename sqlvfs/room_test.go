package sqlvfs

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fullDisk is a disk of a size. Files that are there when it is made are on it.
type fullDisk struct {
	*disk
	dir string

	mu   sync.Mutex // one at a time asks
	size int64
}

func (d *fullDisk) used() (sum int64) {
	names, _ := filepath.Glob(filepath.Join(d.dir, "*"))
	for _, name := range names {
		var st syscall.Stat_t
		if syscall.Stat(name, &st) == nil {
			sum += st.Size
		}
	}
	return sum
}

func (d *fullDisk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(0, d.size-d.used())
}

// openFull opens a store on a disk of a size, which tells how much is free if it is to.
func openFull(t testing.TB, path string, size int64, tells bool, how Options) *Store {
	t.Helper()
	s, _ := openFullDisk(t, path, size, tells, how)
	return s
}

// openFullDisk is openFull for who has the disk fail in other ways, too.
func openFullDisk(t testing.TB, path string, size int64, tells bool, how Options) (*Store, *disk) {
	t.Helper()
	d, name := newDisk(t, honest)
	full := &fullDisk{disk: d, dir: filepath.Dir(path), size: size}
	d.grows = func(by int64) error {
		if by > full.free() {
			return &os.PathError{Op: "pwrite", Path: path, Err: syscall.ENOSPC}
		}
		return nil
	}
	h := defaults
	h.query, h.retry = "vfs="+name, 5*time.Millisecond
	h.room = func(string) room {
		if tells {
			return room{full.free(), math.MaxInt64}
		}
		return room{math.MaxInt64, math.MaxInt64}
	}
	how.Create, how.Root = true, rootAttr
	s, err := openStore(path, how, h)
	must(t, err)
	return s, d
}

func random(size int) []byte {
	p := make([]byte, size)
	rnd := rand.New(rand.NewPCG(uint64(size), 1))
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
	return p
}

func remove(t testing.TB, s *Store, name string) {
	t.Helper()
	in := lookup(t, s, name)
	must(t, s.Reduce(func(tx *Tx) error {
		in.Attr.Nlink = 0
		tx.Dirty(in)
		err := tx.Unlink(tx.Root(), name)
		tx.Put(in)
		return err
	}))
}

// names are those that a database has in its root.
func names(t testing.TB, path string) map[string]int64 {
	t.Helper()
	s, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	defer s.Close()
	all := map[string]int64{}
	must(t, s.View(func(tx *Tx) error {
		children, err := tx.Children(tx.Root())
		for _, c := range children {
			in, err := tx.Get(c.Ino)
			if err != nil {
				return err
			}
			all[c.Name] = in.Attr.Size
			tx.Put(in)
		}
		return err
	}))
	return all
}

// Deleting works on a full disk, whatever history knows of what is deleted: that gives way, as much of it as has to.
func TestDeletingOnAFullDisk(t *testing.T) {
	for _, c := range []struct {
		name        string
		checkpoints int // before the file is written, each of a file of 2 MiB that is gone later
		occasion    Occasion
		tells       bool
	}{
		{"that the session has found", 0, AtSession, true},
		{"that a checkpoint knows", 1, "", true},
		{"that many checkpoints know", 5, AtSession, true},
		{"of which nobody tells how full it is", 2, AtSession, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(memoryDir(t), "a.db")
			s := openFull(t, path, 1<<40, true, Options{})
			for i := range c.checkpoints {
				name := fmt.Sprint("old", i)
				in := create(t, s, name, syscall.S_IFREG|0o600)
				must(t, s.WriteAt(in, random(2<<20), 0, nil, Now()))
				put(s, in)
				_, err := s.Checkpoint(AtRest, "")
				must(t, err)
				remove(t, s, name)
			}
			put(s, create(t, s, "kept", syscall.S_IFREG|0o600))
			big := create(t, s, "big", syscall.S_IFREG|0o600)
			must(t, s.WriteAt(big, random(20<<20), 0, nil, Now()))
			put(s, big)
			if c.checkpoints > 0 {
				_, err := s.Checkpoint(AtRest, "")
				must(t, err)
			}
			must(t, s.Close())
			info, err := os.Stat(path)
			must(t, err)

			s = openFull(t, path, info.Size()+2<<20, c.tells, Options{Checkpoint: c.occasion})
			must(t, s.BeginSession(1, []string{"rm"}))
			remove(t, s, "big")
			must(t, s.Sync())
			in := create(t, s, "more", syscall.S_IFREG|0o600)
			must(t, s.WriteAt(in, random(1<<20), 0, nil, Now()))
			put(s, in)
			must(t, s.Sync())
			list, err := s.Checkpoints()
			must(t, err)
			dropped := int64(c.checkpoints + 1)
			if s.Dropped() != dropped || len(list) > 0 {
				t.Errorf("%d checkpoints are said to be dropped, and %+v are left", s.Dropped(), list)
			}
			sessions, err := s.Sessions()
			must(t, err)
			if sessions[0].Dropped != s.Dropped() {
				t.Errorf("the log says %d", sessions[0].Dropped)
			}
			// Their numbers do not come again.
			again, err := s.Checkpoint(AtRest, "")
			must(t, err)
			if c.checkpoints == 0 && again.ID != 1 || c.checkpoints > 0 && again.ID != dropped+1 {
				t.Errorf("the next one is %d", again.ID)
			}
			must(t, s.Close())
			must(t, checkClean(path))
			if got := names(t, path); len(got) != 2 || got["more"] != 1<<20 {
				t.Errorf("there is %v", got)
			}
		})
	}
}

// No more of history goes than has to, and what stays shows what it did.
func TestHistoryGivesWayFromTheOldest(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openFull(t, path, 1<<40, true, Options{})
	trees := map[int64]*node{}
	for i := range 8 {
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		must(t, s.WriteAt(in, bytes.Repeat([]byte{byte(i + 1)}, 2<<20), 0, nil, Now()))
		put(s, in)
		c, err := s.Checkpoint(AtRest, "")
		must(t, err)
		trees[c.ID], err = readTree(s)
		must(t, err)
		remove(t, s, "f")
	}
	must(t, s.Close())
	info, err := os.Stat(path)
	must(t, err)
	s = openFull(t, path, info.Size()+3<<20, true, Options{})
	in := create(t, s, "new", syscall.S_IFREG|0o600)
	for i := range int64(40) {
		must(t, s.WriteAt(in, random(128<<10), i*128<<10, nil, Now()))
	}
	put(s, in)
	must(t, s.Sync())
	list, err := s.Checkpoints()
	must(t, err)
	if n := len(list); n == 0 || n == 8 || list[0].ID != 8 || s.Dropped() != int64(8-n) {
		t.Errorf("%d are dropped, and %+v left", s.Dropped(), list)
	}
	must(t, s.Close())
	must(t, checkClean(path))
	for _, c := range list {
		must(t, showsAt(path, c.ID, trees[c.ID]))
	}
}

// fillUp writes a file "new" until there is no room for more of it.
func fillUp(t *testing.T, s *Store) {
	t.Helper()
	in, full := create(t, s, "new", syscall.S_IFREG|0o600), false
	for i := range int64(200) {
		if full = s.WriteAt(in, random(128<<10), i*128<<10, nil, Now()) != nil; full {
			break
		}
	}
	put(s, in)
	if err := s.Sync(); err == nil && !full {
		t.Error("all fits")
	}
}

// What the user has asked for stays on a full disk: no guest can take it away by filling that. What the guest has, and what is made by
// itself, goes.
func TestAskedForDoesNotGiveWay(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openFull(t, path, 1<<40, true, Options{})
	trees := map[int64]*node{}
	for _, of := range []Checkpoint{{Kind: AtRest}, {Kind: ByUser}, {Kind: ByGuest, Label: "turn"}, {Kind: AtRest, Label: "named"}, {Kind: AtRest}, {Kind: ByGuest}} {
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		must(t, s.WriteAt(in, random(1<<20), 0, nil, Now()))
		put(s, in)
		c, err := s.Checkpoint(of.Kind, of.Label)
		must(t, err)
		if of.Kind == ByUser || of.Label == "named" {
			trees[c.ID], err = readTree(s)
			must(t, err)
		}
		remove(t, s, "f")
	}
	must(t, s.Close())
	info, err := os.Stat(path)
	must(t, err)
	s = openFull(t, path, info.Size()+3<<20, true, Options{Checkpoint: AtSession})
	must(t, s.BeginSession(1, []string{"fill"}))
	fillUp(t, s)
	remove(t, s, "new")
	must(t, recovers(s))
	if s.Dropped() != 4 {
		t.Errorf("%d are said to be dropped", s.Dropped())
	}
	again, err := s.Checkpoint(ByUser, "")
	must(t, err)
	if again.ID <= 6 {
		t.Errorf("%d comes again", again.ID)
	}
	must(t, s.Close())
	must(t, checkClean(path))
	for id, was := range trees {
		must(t, showsAt(path, id, was))
	}
}

// What going back has replaced not long ago is the last to go.
func TestUndoneGivesWayLast(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	keep := Options{Keep: Keep{Undone: time.Hour}}
	s := openFull(t, path, 1<<40, true, keep)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	checkpoint := func(i int) {
		must(t, s.WriteAt(in, random(2<<20+i), 0, nil, Now()))
		_, err := s.Checkpoint(AtRest, "")
		must(t, err)
	}
	for i := range 3 {
		checkpoint(i)
	}
	_, err := s.GoBack(Undo, nil)
	must(t, err)
	for i := range 3 {
		checkpoint(3 + i)
	}
	put(s, in)
	must(t, s.Close())
	info, err := os.Stat(path)
	must(t, err)
	s = openFull(t, path, info.Size()+4<<20, true, keep)
	more := create(t, s, "more", syscall.S_IFREG|0o600)
	for i := range int64(72) {
		must(t, s.WriteAt(more, random(128<<10), i*128<<10, nil, Now()))
	}
	put(s, more)
	must(t, s.Sync())
	list, err := s.Checkpoints()
	must(t, err)
	if s.Dropped() == 0 {
		t.Error("all fits")
	}
	for _, id := range []int64{3, 4} {
		if !slices.ContainsFunc(list, func(c Checkpoint) bool { return c.ID == id }) {
			t.Errorf("%d are dropped, and %+v left", s.Dropped(), list)
		}
	}
	must(t, s.Close())
	must(t, checkClean(path))
}

// What a fork is of stays on a full disk too, and all else goes.
func TestHistoryOfForksDoesNotGiveWay(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openFull(t, path, 1<<40, true, Options{})
	held, was := int64(0), (*node)(nil)
	for i := range 4 {
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		must(t, s.WriteAt(in, bytes.Repeat([]byte{byte(i + 1)}, 2<<20), 0, nil, Now()))
		put(s, in)
		c, err := s.Checkpoint(AtRest, "")
		must(t, err)
		if i == 2 {
			held = c.ID
			_, err = s.AddFork(filepath.Join(t.TempDir(), "fork.db"), NewSecret(), fmt.Sprint(c.ID))
			must(t, err)
			was, err = readTree(s)
			must(t, err)
		}
		remove(t, s, "f")
	}
	must(t, s.Close())
	info, err := os.Stat(path)
	must(t, err)
	s = openFull(t, path, info.Size()+3<<20, true, Options{})
	fillUp(t, s)
	_ = s.Close() // what does not fit is lost, and told
	must(t, checkClean(path))
	reader, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	list, err := reader.Checkpoints()
	must(t, err)
	must(t, reader.Close())
	if len(list) != 1 || list[0].ID != held {
		t.Errorf("%+v are left", list)
	}
	must(t, showsAt(path, held, was))
}

// A session that ends with a full disk has all that fits, and that is a prefix of what happened.
func TestWhatFitsIsCommitted(t *testing.T) {
	for _, tells := range []bool{true, false} {
		t.Run(fmt.Sprint("told ", tells), func(t *testing.T) {
			path := filepath.Join(memoryDir(t), "a.db")
			const size, file = 12 << 20, 100 << 10
			s := openFull(t, path, size, tells, Options{})
			refused := 0
			for i := range 300 {
				err := s.Update(func(tx *Tx) error {
					in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1})
					if err != nil {
						return err
					}
					defer tx.Put(in)
					if err := tx.WriteAt(in, random(file), 0, Now()); err != nil {
						return err
					}
					return tx.Link(tx.Root(), fmt.Sprint(i), in)
				})
				if err != nil && Errno(err) != syscall.ENOSPC {
					t.Fatal(err)
				}
				if err != nil {
					refused++
					break
				}
			}
			err := s.Close()
			must(t, checkClean(path))
			got := names(t, path)
			for i := range got {
				if got[i] != file {
					t.Errorf("%s has %d bytes", i, got[i])
				}
			}
			for i := range len(got) {
				if _, ok := got[fmt.Sprint(i)]; !ok {
					t.Errorf("of %d files, number %d is not there", len(got), i)
				}
			}
			t.Logf("%d files of %d KiB are there, %d refused, close: %v", len(got), file>>10, refused, err)
			if least := (size - reserve - 1<<20) / file * 9 / 10; tells && len(got) < least {
				t.Errorf("%d files are there, and %d would fit", len(got), least)
			}
		})
	}
}

// What is deleted one file after the other, each durably, makes room, when the guest has filled the disk to the last byte it could.
func TestDeletingAfterFilling(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openFull(t, path, 10<<20, true, Options{Checkpoint: AtSession})
	n := 0
	for ; ; n++ {
		err := s.Update(func(tx *Tx) error {
			in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1})
			if err != nil {
				return err
			}
			defer tx.Put(in)
			if err := tx.WriteAt(in, random(3000+n%7*1000), 0, Now()); err != nil {
				return err
			}
			return tx.Link(tx.Root(), fmt.Sprint(n), in)
		})
		if err == nil {
			err = s.Sync()
		}
		if Errno(err) == syscall.ENOSPC {
			break
		}
		must(t, err)
	}
	t.Logf("%d files", n)
	for i := n; i >= 0; i-- { // the last one is what there was no room for
		remove(t, s, fmt.Sprint(i))
		if err := recovers(s); err != nil {
			t.Fatalf("with %d left: %v", i, err)
		}
	}
	must(t, s.Close())
	must(t, checkClean(path))
}
