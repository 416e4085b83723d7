package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs/fsck"
	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

var rootAttr = Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2}

func openTest(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Create: true, Root: rootAttr})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	alter, alterInLog, bytesOf, dump = dbtest.Alter, dbtest.AlterInLog, dbtest.Bytes, dbtest.Dump
	sample, fixture, sdkDatabase     = dbtest.Sample, dbtest.Layout, dbtest.SDK
	fixtureTree, sdkTree             = dbtest.LayoutTree, dbtest.SDKTree
)

// findings are what fsck says about a database, a line each.
func findings(t testing.TB, path string) string {
	t.Helper()
	list, err := fsck.Check(path)
	must(t, err)
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%d %s\n", f.Ino, f.Text)
	}
	return b.String()
}

// create makes an empty file in the root and returns it held.
func create(t testing.TB, s *Store, name string, mode uint32) *Inode {
	t.Helper()
	var in *Inode
	step(s, func(tx *Tx) {
		var err error
		in, err = tx.New(Attr{Mode: mode, Nlink: 1, Mtime: Timespec{Sec: 5, Nsec: 6}})
		must(t, err)
		must(t, tx.Link(tx.Root(), name, in))
	})
	return in
}

func lookup(t testing.TB, s *Store, name string) *Inode {
	t.Helper()
	return ask(t, s, func(tx *Tx) (*Inode, error) {
		c, ok, _, err := tx.Child(tx.Root(), name)
		must(t, err)
		if !ok {
			t.Fatalf("%q is not there", name)
		}
		return tx.Get(c.Ino)
	})
}

// ask returns what a step has found.
func ask[T any](t testing.TB, s *Store, question func(*Tx) (T, error)) T {
	t.Helper()
	answer, err := Query(s, question)
	must(t, err)
	return answer
}

// count is the number that an SQL query yields of what is committed.
func count(t testing.TB, s *Store, query string) int64 {
	t.Helper()
	return ask(t, s, func(tx *Tx) (int64, error) { return database.QueryInt(tx.meta.Conn, query) })
}

// step runs what cannot fail, or fails the test itself, as a step, without waiting for the disk.
func step(s *Store, do func(*Tx)) {
	s.View(func(tx *Tx) error {
		return tx.run(func(tx *Tx) error {
			do(tx)
			return nil
		})
	})
}

// zero makes a stretch of a file read as zeros, in as many steps as that takes.
func zero(s *Store, in *Inode, off, length int64, keepSize bool, base io.ReaderAt, now Timespec) (err error) {
	for end := off + length; off < end && err == nil; {
		err = s.change(base, func(tx *Tx) (err error) {
			off, err = tx.Zero(in, off, end-off, keepSize, now)
			return err
		})
	}
	return err
}

func put(s *Store, in *Inode) {
	step(s, func(tx *Tx) { tx.Put(in) })
}

func content(t testing.TB, s *Store, in *Inode) []byte {
	t.Helper()
	return contentOver(t, s, in, nil)
}

// contentOver is a file's content, with that of its origin.
func contentOver(t testing.TB, s *Store, in *Inode, base io.ReaderAt) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(readerOf{s, in, base}, 0, 1<<40))
	must(t, err)
	return b
}

type readerOf struct {
	s    *Store
	in   *Inode
	base io.ReaderAt
}

func (r readerOf) ReadAt(p []byte, off int64) (int, error) { return r.s.ReadAt(r.in, p, off, r.base) }

func TestFileComesBackAfterReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	in := create(t, s, "bytes\xff", syscall.S_IFREG|0o640)
	data := make([]byte, 3*DefaultChunkSize+17)
	for i := range data {
		data[i] = byte(i * 7)
	}
	must(t, s.WriteAt(in, data, 0, nil, Timespec{Sec: 7, Nsec: 8}))
	must(t, s.Close())
	if ents, _ := os.ReadDir(filepath.Dir(path)); len(ents) != 1 {
		t.Errorf("files left beside the database: %v", ents)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("database mode %v", st.Mode())
	}

	s = openTest(t, path)
	in = lookup(t, s, "bytes\xff")
	if !bytes.Equal(content(t, s, in), data) {
		t.Error("content differs")
	}
	want := Attr{Mode: syscall.S_IFREG | 0o640, Nlink: 1, Size: int64(len(data)), Mtime: Timespec{Sec: 7, Nsec: 8}, Ctime: Timespec{Sec: 7, Nsec: 8}}
	if in.Attr != want {
		t.Errorf("attributes %+v, want %+v", in.Attr, want)
	}
	must(t, s.Close())
}

// TestContentAgainstModel writes, truncates, zeroes, commits and evicts at random, and compares with
// a plain byte slice after each step. Every other file has an origin.
func TestContentAgainstModel(t *testing.T) {
	for seed := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		path := filepath.Join(t.TempDir(), "a.db")
		s := openTest(t, path)
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		var model []byte
		var base io.ReaderAt
		if seed%2 == 1 {
			model = bytes.Repeat([]byte("origin"), 1+rnd.IntN(50_000))
			base = bytes.NewReader(bytes.Clone(model))
			step(s, func(tx *Tx) {
				in.Attr.Size = int64(len(model))
				tx.SetOrigin(in, &Origin{Base: "ws", Path: "f", Limit: in.Attr.Size})
			})
		}
		for range 150 {
			switch rnd.IntN(7) {
			case 0, 1, 2:
				off := rnd.IntN(4 * DefaultChunkSize)
				p := make([]byte, 1+rnd.IntN([]int{10, 5000, 2 * DefaultChunkSize}[rnd.IntN(3)]))
				for i := range p {
					p[i] = byte(rnd.Uint32())
				}
				must(t, s.WriteAt(in, p, int64(off), base, Now()))
				if n := off + len(p); n > len(model) {
					model = append(model, make([]byte, n-len(model))...)
				}
				copy(model[off:], p)
			case 3:
				size := rnd.IntN(6 * DefaultChunkSize)
				must(t, s.Truncate(in, int64(size), base, Now()))
				if size < len(model) {
					model = model[:size:size]
				} else {
					model = append(model, make([]byte, size-len(model))...)
				}
			case 6:
				off, n := rnd.IntN(5*DefaultChunkSize), 1+rnd.IntN([]int{100, 3 * DefaultChunkSize}[rnd.IntN(2)])
				keep := rnd.IntN(2) == 0
				must(t, zero(s, in, int64(off), int64(n), keep, base, Now()))
				if end := off + n; end > len(model) && !keep {
					model = append(model, make([]byte, end-len(model))...)
				}
				if off < len(model) {
					clear(model[off:min(off+n, len(model))])
				}
			case 4:
				must(t, s.Sync())
			case 5:
				put(s, in)
				if rnd.IntN(2) == 0 {
					must(t, s.Close())
					s = openTest(t, path)
				}
				in = lookup(t, s, "f")
			}
			if got := contentOver(t, s, in, base); !bytes.Equal(got, model) {
				t.Fatalf("seed %d: content differs: %d bytes, want %d", seed, len(got), len(model))
			}
		}
		must(t, s.Close())
		s = openTest(t, path)
		rows := count(t, s, `SELECT count(*) FROM fs_data d JOIN fs_inode i USING (ino)
			WHERE length(d.data) <> min(65536, i.size - d.chunk_index*65536)`)
		if rows != 0 {
			t.Errorf("seed %d: %d chunks are not as long as the file's size makes them", seed, rows)
		}
		must(t, s.Close())
	}
}

func TestUnlinkedFileKeepsItsContentWhileHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(in, []byte("still here"), 0, nil, Now()))
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		must(t, tx.Unlink(tx.Root(), "f"))
		in.Attr.Nlink = 0
		tx.Dirty(in)
	})
	must(t, s.Sync())
	if got := content(t, s, in); string(got) != "still here" {
		t.Errorf("content %q", got)
	}
	counts := func(s *Store) [3]int64 {
		return [3]int64{count(t, s, "SELECT count(*) FROM fs_inode"), count(t, s, "SELECT count(*) FROM fs_data"), count(t, s, "SELECT count(*) FROM art_orphan")}
	}
	if got := counts(s); got != [3]int64{1, 1, 1} {
		t.Errorf("inodes, chunks, orphans while open: %v", got)
	}
	// The process dies here: the next session reaps what is left.
	must(t, s.Close())
	s = openTest(t, path)
	if got := counts(s); got != [3]int64{1, 0, 0} {
		t.Errorf("inodes, chunks, orphans after reopening: %v", got)
	}
	must(t, s.Close())
}

// A file without names and references is gone before its rows are: who asks for it by its number, as who completes copies in the
// background does, would put content into a file that is not there.
func TestRemovedFileIsNotFound(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	for _, stored := range []bool{false, true} {
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		if stored {
			must(t, s.Sync())
		}
		step(s, func(tx *Tx) {
			must(t, tx.Unlink(tx.Root(), "f"))
			in.Attr.Nlink = 0
			tx.Dirty(in)
			tx.Put(in)
			if _, err := tx.Get(in.Ino); !errors.Is(err, ErrNotExist) {
				t.Errorf("stored %v: %v", stored, err)
			}
		})
	}
	must(t, s.Close())
}

func TestShortLivedFileNeverReachesTheDisk(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	must(t, s.Sync())
	for range 100 {
		in := create(t, s, "tmp", syscall.S_IFREG|0o600)
		must(t, s.WriteAt(in, make([]byte, 1000), 0, nil, Now()))
		step(s, func(tx *Tx) {
			must(t, tx.Unlink(tx.Root(), "tmp"))
			in.Attr.Nlink = 0
			tx.Dirty(in)
			tx.Put(in)
			if len(tx.gather.chunks) != 0 || len(tx.gather.dentries) != 0 {
				t.Fatalf("batch still holds %d chunks, %d names", len(tx.gather.chunks), len(tx.gather.dentries))
			}
		})
	}
	must(t, s.Sync())
	step(s, func(tx *Tx) {
		if len(tx.live) != 1 {
			t.Errorf("%d inodes still live", len(tx.live))
		}
	})
	must(t, s.Close())
}

// TestNameComesAndGoesWithinABatch removes a stored entry, makes it again and removes it again: the
// short life of the second must not save the row of the first.
func TestNameComesAndGoesWithinABatch(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	remove := func(in *Inode) {
		step(s, func(tx *Tx) {
			must(t, tx.Unlink(tx.Root(), "f"))
			must(t, tx.ClearWhiteout(tx.Root(), "w"))
			in.Attr.Nlink = 0
			tx.Dirty(in)
			tx.Put(in)
		})
	}
	make := func() *Inode {
		in := create(t, s, "f", syscall.S_IFREG|0o600)
		step(s, func(tx *Tx) { must(t, tx.SetWhiteout(tx.Root(), "w")) })
		return in
	}
	in := make()
	must(t, s.Sync())
	for range 2 { // well within Linger, so that all of it is one batch
		remove(in)
		in = make()
	}
	remove(in)
	must(t, s.Sync())
	for _, q := range []string{"SELECT count(*) FROM fs_dentry", "SELECT count(*) FROM art_whiteout"} {
		if n := count(t, s, q); n != 0 {
			t.Errorf("%s: %d", q, n)
		}
	}
}

func TestReaderSeesCommitsOfAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	defer s.Close()
	r, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	defer r.Close()
	in := create(t, s, "new", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(in, []byte("hello"), 0, nil, Now()))
	must(t, s.Sync())
	step(r, func(tx *Tx) { tx.looked = time.Time{} })
	if got := content(t, r, lookup(t, r, "new")); string(got) != "hello" {
		t.Errorf("reader sees %q", got)
	}
	if err := r.WriteAt(lookup(t, r, "new"), []byte("x"), 0, nil, Now()); !errors.Is(err, ErrReadOnly) {
		t.Errorf("write to a read-only store: %v", err)
	}
}

// Who reads on while a session ends does not keep that waiting, and nothing is lost.
func TestEndBesideReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	create(t, s, "before", syscall.S_IFREG|0o600)
	must(t, s.Sync())
	r, err := database.ConnectReadOnly(path, database.HostFiles)
	must(t, err)
	defer r.Close()
	must(t, r.Exec("BEGIN"))
	_, err = database.QueryInt(r.Conn, "SELECT count(*) FROM fs_inode")
	must(t, err)
	create(t, s, "after", syscall.S_IFREG|0o600)
	begun := time.Now()
	must(t, s.Close())
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
	must(t, r.Exec("ROLLBACK"))
	s = openTest(t, path)
	defer s.Close()
	lookup(t, s, "after")
}

func TestForeignFilesAreRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	header := func(app, version byte) []byte {
		b := make([]byte, 4096)
		copy(b, "SQLite format 3\x00")
		b[63], b[68], b[69], b[70], b[71] = version, 'a', 'r', 't', app
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"text":  {[]byte("this is a text file\n"), ErrNotDatabase},
		"newer": {header('1', SchemaVersion+1), ErrNewer},
		"other": {header('2', 1), ErrForeign},
		"torn":  {header('1', SchemaVersion)[:120], ErrCorrupt},
	} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, c.data, 0o600))
		_, err := Open(path, Options{Create: true, Root: rootAttr})
		if !errors.Is(err, c.want) && !(name == "torn" && errors.Is(err, ErrNotDatabase)) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, c.data) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if ents, _ := os.ReadDir(dir); len(ents) != 4 {
		t.Errorf("files left behind: %v", ents)
	}
}
