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
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes = s.tx.gather.bytes
	if s.tx.inflight != nil {
		bytes += s.tx.inflight.bytes
	}
	for _, in := range s.tx.live {
		bytes += in.size()
	}
	return bytes
}

// However much a guest puts into what is not content, and however many inodes the kernel holds, what is
// in memory of it is bounded. All of it can be read again.
func TestWhatCanBeReadAgainIsDropped(t *testing.T) {
	const limit = 1 << 20 // of both kinds
	long := strings.Repeat("x", 4000)
	name := func(i int) string { return fmt.Sprintf("%0200d", i) }
	value := func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i%10), 60000)) }
	for _, what := range []struct {
		name  string
		count int
		most  int // of one inode, in bytes
		make  func(s *Store, dir *Inode, i int) (*Inode, error)
		same  func(s *Store, in *Inode, i int) error
	}{
		{"targets", 3000, 4000, func(s *Store, dir *Inode, i int) (*Inode, error) {
			in, err := s.tx.New(Attr{Mode: syscall.S_IFLNK | 0o777, Nlink: 1})
			if err == nil {
				s.tx.SetTarget(in, long+fmt.Sprint(i))
				err = s.tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(s *Store, in *Inode, i int) error {
			if got, err := s.tx.Target(in); err != nil || got != long+fmt.Sprint(i) {
				return fmt.Errorf("target %d is %.20q, %v", i, got, err)
			}
			return nil
		}},
		{"attributes", 50, 5 * 61000, func(s *Store, dir *Inode, i int) (*Inode, error) {
			in, err := s.tx.New(Attr{Mode: syscall.S_IFREG | 0o666, Nlink: 1})
			for j := 0; err == nil && j < 5; j++ {
				err = s.tx.SetXattr(in, fmt.Sprintf("user.%d", j), value(i+j))
			}
			if err == nil {
				err = s.tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(s *Store, in *Inode, i int) error {
			names, err := s.tx.Xattrs(in)
			if err != nil || len(names) != 5 {
				return fmt.Errorf("attributes of %d: %q, %v", i, names, err)
			}
			for j := range 5 {
				if got, _, err := s.tx.Xattr(in, fmt.Sprintf("user.%d", j)); err != nil || string(got) != string(value(i+j)) {
					return fmt.Errorf("attribute %d of %d is %.20q, %v", j, i, got, err)
				}
			}
			return nil
		}},
		{"directories", 500, 20 * entryBytes, func(s *Store, dir *Inode, i int) (*Inode, error) {
			in, err := s.tx.New(Attr{Mode: syscall.S_IFDIR | 0o777, Nlink: 2})
			for j := 0; err == nil && j < 20; j++ {
				var file *Inode
				if file, err = s.tx.New(Attr{Mode: syscall.S_IFREG | 0o666, Nlink: 1}); err == nil {
					err = s.tx.Link(in, name(j), file)
					s.tx.Put(file)
				}
			}
			if err == nil {
				err = s.tx.SetWhiteout(in, "white")
			}
			if err == nil {
				err = s.tx.Link(dir, fmt.Sprint(i), in)
			}
			return in, err
		}, func(s *Store, in *Inode, i int) error {
			if _, ok, _, err := s.tx.Child(in, name(i%20)); err != nil || !ok {
				return fmt.Errorf("entry of %d: %v, %v", i, ok, err)
			}
			if _, _, white, err := s.tx.Child(in, "white"); err != nil || !white {
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
				s.mu.Lock()
				must(t, s.tx.awaitRoom())
				in, err := what.make(s, dir, i)
				s.mu.Unlock()
				must(t, err)
				all = append(all, in)
				if i%50 == 0 {
					check("while they are made", clean+2*limit) // what is to be written counts twice
				}
			}
			must(t, s.Sync())
			check("when all are committed", clean)
			for round := range 2 {
				for i, in := range all {
					s.mu.Lock()
					must(t, what.same(s, in, i))
					s.mu.Unlock()
				}
				check(fmt.Sprint("read ", round), clean)
			}
			// What is changed meanwhile stays until it is committed.
			s.mu.Lock()
			for _, in := range all {
				s.tx.Dirty(in)
			}
			for i, in := range all {
				must(t, what.same(s, in, i))
			}
			s.mu.Unlock()
			must(t, s.Sync())
			for i, in := range all {
				s.mu.Lock()
				must(t, what.same(s, in, i))
				s.tx.Put(in)
				s.mu.Unlock()
			}
			put(s, dir)
			s.mu.Lock()
			if s.tx.clean.count > 1 { // the root
				t.Errorf("%d inodes of which nobody holds one are kept", s.tx.clean.count)
			}
			s.mu.Unlock()
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
	s.mu.Lock()
	s.tx.SetTarget(link, "target")
	s.mu.Unlock()
	must(t, s.Sync())
	s.mu.Lock()
	must(t, s.tx.Unlink(s.tx.Root(), "link"))
	link.Attr.Nlink = 0
	s.tx.Dirty(link)
	s.mu.Unlock()
	must(t, s.Sync())
	must(t, checkClean(path))
	s.mu.Lock()
	s.tx.drop(link)
	if target, err := s.tx.Target(link); err != nil || target != "target" {
		t.Errorf("it leads to %q, %v", target, err)
	}
	s.tx.Put(link)
	s.mu.Unlock()
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
