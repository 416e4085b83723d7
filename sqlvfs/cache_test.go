package sqlvfs

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// inMemory counts what a store holds beside its live inodes: what waits for the disk, and what could be
// read again.
func inMemory(s *Store) (bytes int) {
	step(s, func(tx *Tx) {
		bytes = tx.gather.bytes
		if tx.inflight != nil {
			bytes += tx.inflight.bytes
		}
		for _, in := range tx.live {
			bytes += in.size()
		}
	})
	return bytes
}

// However much a guest puts into what is not content, and however many inodes the kernel holds, what is
// in memory of it is bounded. All of it can be read again.
func TestWhatCanBeReadAgainIsDropped(t *testing.T) {
	const limit = 1 << 18 // of both kinds
	long := strings.Repeat("x", 4000)
	name := func(i int) string { return fmt.Sprintf("%0200d", i) }
	value := func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i%10), 60000)) }
	for _, what := range []struct {
		name  string
		count int
		most  int // of one inode, in bytes
		make  func(tx *Tx, dir *Inode, i int) (*Inode, error)
		same  func(tx *Tx, in *Inode, i int) error
	}{
		{"targets", 750, 4000, func(tx *Tx, dir *Inode, i int) (*Inode, error) {
			in, err := tx.New(Attr{Mode: syscall.S_IFLNK | 0o777, Nlink: 1})
			if err == nil {
				tx.SetTarget(in, long+fmt.Sprint(i))
				err = tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(tx *Tx, in *Inode, i int) error {
			if got, err := tx.Target(in); err != nil || got != long+fmt.Sprint(i) {
				return fmt.Errorf("target %d is %.20q, %v", i, got, err)
			}
			return nil
		}},
		{"attributes", 40, 5 * 61000, func(tx *Tx, dir *Inode, i int) (*Inode, error) {
			in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o666, Nlink: 1})
			for j := 0; err == nil && j < 5; j++ {
				err = tx.SetXattr(in, fmt.Sprintf("user.%d", j), value(i+j))
			}
			if err == nil {
				err = tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(tx *Tx, in *Inode, i int) error {
			names, err := tx.Xattrs(in)
			if err != nil || len(names) != 5 {
				return fmt.Errorf("attributes of %d: %q, %v", i, names, err)
			}
			for j := range 5 {
				if got, _, err := tx.Xattr(in, fmt.Sprintf("user.%d", j)); err != nil || string(got) != string(value(i+j)) {
					return fmt.Errorf("attribute %d of %d is %.20q, %v", j, i, got, err)
				}
			}
			return nil
		}},
		{"short content", 300, 5000, func(tx *Tx, dir *Inode, i int) (*Inode, error) {
			in, err := tx.New(Attr{Mode: syscall.S_IFREG | 0o666, Nlink: 1})
			if err == nil {
				err = tx.WriteAt(in, []byte(long+fmt.Sprint(i)), 0, Now())
			}
			if err == nil {
				err = tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(tx *Tx, in *Inode, i int) error {
			var r reading
			p := make([]byte, in.Attr.Size)
			if err := tx.read(in, p, 0, &r); err != nil || len(r.runs) == 0 && string(p) != long+fmt.Sprint(i) {
				return fmt.Errorf("content %d is %.20q, %v", i, p, err)
			}
			return nil
		}},
		{"directories", 125, 20 * entryBytes, func(tx *Tx, dir *Inode, i int) (*Inode, error) {
			in, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o777, Nlink: 2})
			for j := 0; err == nil && j < 20; j++ {
				var file *Inode
				if file, err = tx.New(Attr{Mode: syscall.S_IFREG | 0o666, Nlink: 1}); err == nil {
					err = tx.Link(in, name(j), file)
					tx.Put(file)
				}
			}
			if err == nil {
				err = tx.SetWhiteout(in, "white")
			}
			if err == nil {
				err = tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(tx *Tx, in *Inode, i int) error {
			if _, ok, _, err := tx.Child(in, name(i%20)); err != nil || !ok {
				return fmt.Errorf("entry of %d: %v, %v", i, ok, err)
			}
			if _, _, white, err := tx.Child(in, "white"); err != nil || !white {
				return fmt.Errorf("whiteout in %d: %v, %v", i, white, err)
			}
			return nil
		}},
	} {
		t.Run(what.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			h := defaults
			h.clean = limit
			s, err := openStore(path, Options{Create: true, Root: rootAttr, MaxDirty: limit}, h)
			must(t, err)
			dir := create(t, s, "dir", syscall.S_IFDIR|0o755)
			clean := limit + what.count*entryBytes + (keptAnyway+1)*what.most
			check := func(when string, most int) {
				t.Helper()
				if n := inMemory(s); n > most {
					t.Fatalf("%s: %d bytes are in memory, %d at most", when, n, most)
				}
			}
			var all []*Inode // held, as by the kernel
			for i := range what.count {
				must(t, s.Update(func(tx *Tx) error {
					in, err := what.make(tx, dir, i)
					all = append(all, in)
					return err
				}))
				if i%50 == 0 {
					check("while they are made", clean+2*limit) // what is to be written counts twice
				}
			}
			must(t, s.Sync())
			check("when all are committed", clean)
			for round := range 2 {
				for i, in := range all {
					step(s, func(tx *Tx) { must(t, what.same(tx, in, i)) })
				}
				check(fmt.Sprint("read ", round), clean)
			}
			// What is changed meanwhile stays until it is committed.
			step(s, func(tx *Tx) {
				for _, in := range all {
					tx.Dirty(in)
				}
				for i, in := range all {
					must(t, what.same(tx, in, i))
				}
			})
			must(t, s.Sync())
			for i, in := range all {
				step(s, func(tx *Tx) {
					must(t, what.same(tx, in, i))
					tx.Put(in)
				})
			}
			put(s, dir)
			step(s, func(tx *Tx) {
				if tx.clean.used.Len() > 1 { // the root
					t.Errorf("%d inodes of which nobody holds one are kept", tx.clean.used.Len())
				}
			})
			must(t, s.Close())
			must(t, checkClean(path))
		})
	}
}

// A link that is removed while somebody holds it still leads where it did, and leaves no row behind, nor
// does one that a process held which was killed.
func TestTargetOfANamelessLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	link := create(t, s, "link", syscall.S_IFLNK|0o777)
	step(s, func(tx *Tx) { tx.SetTarget(link, "target") })
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		must(t, tx.Unlink(tx.Root(), "link"))
		link.Attr.Nlink = 0
		tx.Dirty(link)
	})
	must(t, s.Sync())
	must(t, checkClean(path))
	step(s, func(tx *Tx) {
		tx.drop(link)
		if target, err := tx.Target(link); err != nil || target != "target" {
			t.Errorf("it leads to %q, %v", target, err)
		}
		tx.Put(link)
	})
	must(t, s.Close())
	must(t, checkClean(path))

	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	targets := func(want int64) {
		t.Helper()
		if n, err := database.QueryInt(c, "SELECT count(*) FROM fs_symlink"); err != nil || n != want {
			t.Errorf("%d targets are left, %v", n, err)
		}
	}
	targets(0)
	must(t, c.Exec("INSERT INTO art_orphan (ino) VALUES (77); INSERT INTO fs_symlink (ino, target) VALUES (77, 'x')"))
	must(t, checkClean(path))
	must(t, openTest(t, path).Close())
	targets(0)
}

// Short content that was just committed is read from memory, and is what the file has, whatever becomes of that.
func TestShortContentIsKept(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	in := create(t, s, "f", syscall.S_IFREG|0o644)
	kept := func(want string) {
		t.Helper()
		if got := string(in.content); got != want {
			t.Errorf("%q is kept instead of %q", got, want)
		}
	}
	want := ""
	for i, change := range []struct {
		do   func() error
		want string
	}{
		{func() error { return s.WriteAt(in, []byte("some content"), 0, nil, Now()) }, "some content"},
		{func() error { return s.WriteAt(in, []byte("thing"), 5, nil, Now()) }, "some thingnt"},
		{func() error { return s.WriteAt(in, []byte(", and more"), 12, nil, Now()) }, "some thingnt, and more"},
		{func() error { return s.Truncate(in, 4, nil, Now()) }, "some"},
		{func() error { return s.Truncate(in, 6, nil, Now()) }, "some\x00\x00"},
		{func() error { return zero(s, in, 0, 4, true, nil, Now()) }, "\x00\x00\x00\x00\x00\x00"},
		{func() error { return s.Truncate(in, 0, nil, Now()) }, ""},
		{func() error { return s.WriteAt(in, []byte("again"), 0, nil, Now()) }, "again"},
	} {
		must(t, change.do())
		kept("")
		if got := string(content(t, s, in)); got != change.want {
			t.Errorf("%d: it is %q before it is committed", i, got)
		}
		must(t, s.Sync())
		want = change.want
		if want != "\x00\x00\x00\x00\x00\x00" { // which may be a hole
			kept(want)
		}
		for range 2 { // the second one from the database
			if got := string(content(t, s, in)); got != want {
				t.Errorf("%d: it is %q", i, got)
			}
			if i%2 == 1 {
				step(s, func(tx *Tx) { tx.drop(in) })
			}
		}
	}
	must(t, s.WriteAt(in, make([]byte, shortContent+1), 0, nil, Now()))
	must(t, s.Sync())
	kept("")
	put(s, in)
	must(t, s.Close())
}
