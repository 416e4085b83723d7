package sqlvfs

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// Small changes all over a stored file, larger ones, truncations, holes and commits that fail or are
// under way: at any time it reads as a plain slice of bytes that has seen the same.
func TestPatchesAreLikePlainWrites(t *testing.T) {
	seeds, steps := uint64(6), 3000
	if testing.Short() {
		seeds, steps = 2, 600
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, d := failing(t)
			f := create(t, s, "f", syscall.S_IFREG|0o600)
			rnd := rand.New(rand.NewPCG(seed, 1))
			var want []byte
			failures := 0
			write := func(off, n int) {
				p := make([]byte, n)
				for i := range p {
					p[i] = byte(rnd.Uint32())
				}
				must(t, s.WriteAt(f, p, int64(off), nil, Now()))
				want = append(want, make([]byte, max(0, off+n-len(want)))...)
				copy(want[off:], p)
			}
			write(0, 5*DefaultChunkSize+1234)
			must(t, s.Sync())
			for range steps {
				size := len(want)
				switch what := rnd.IntN(100); {
				case what < 40:
					write(rnd.IntN(size/partSize+1)*partSize, partSize)
				case what < 60:
					write(rnd.IntN(size+1), 1+rnd.IntN(3*partSize))
				case what < 62:
					write(rnd.IntN(6)*DefaultChunkSize, DefaultChunkSize)
				case what < 64 && size < 8*DefaultChunkSize:
					write(size+rnd.IntN(DefaultChunkSize), 1+rnd.IntN(100))
				case what < 68:
					if what < 66 { // or the size that it has
						size = rnd.IntN(8 * DefaultChunkSize)
					}
					must(t, s.Truncate(f, int64(size), nil, Now()))
					want = append(want[:min(size, len(want))], make([]byte, max(0, size-len(want)))...)
				case what < 72 && size > 0:
					off := rnd.IntN(size)
					n := min(1+rnd.IntN(2*DefaultChunkSize), size-off)
					must(t, zero(s, f, int64(off), int64(n), true, nil, Now()))
					clear(want[off : off+n])
				case what < 80:
					step(s, func(tx *Tx) { // have the writer begin with what there is
						tx.gather.sync = true
						tx.kickLater()
					})
				case what < 82:
					must(t, s.Sync())
				case what < 83:
					write(0, 1)
					d.failWith(only(wrote, syscall.EIO))
					switch err := s.Sync(); {
					case Errno(err) == syscall.EIO:
						failures++
					case err != nil:
						t.Fatalf("sync on a broken disk: %v", err)
					}
					d.failWith(nil)
					must(t, recovers(s))
				}
				off := rnd.IntN(len(want) + 1)
				got := make([]byte, min(rnd.IntN(2*DefaultChunkSize), len(want)-off))
				if _, err := s.ReadAt(f, got, int64(off), nil); err != nil && err != io.EOF {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want[off:off+len(got)]) {
					t.Fatalf("bytes [%d, %d) of %d are wrong", off, off+len(got), len(want))
				}
			}
			if !bytes.Equal(content(t, s, f), want) {
				t.Fatal("content differs at the end")
			}
			if failures == 0 {
				t.Error("no transaction failed")
			}
			path := s.Path()
			must(t, s.Close())
			must(t, checkClean(path))
			s = openTest(t, path)
			defer s.Close()
			if !bytes.Equal(content(t, s, lookup(t, s, "f")), want) {
				t.Fatal("content differs in the next session")
			}
		})
	}
}

// A change of one byte of a stored chunk takes no more memory than a part, and the write-ahead log
// grows by the pages that this is on and the inode's, but not by a chunk.
func TestPatchIsSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	defer s.Close()
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(f, make([]byte, 10*DefaultChunkSize), 0, nil, Now()))
	must(t, s.Sync())
	before, err := os.Stat(path + "-wal")
	must(t, err)
	must(t, s.WriteAt(f, []byte("x"), 5*DefaultChunkSize+100, nil, Now()))
	step(s, func(tx *Tx) {
		if tx.gather.bytes != partSize {
			t.Errorf("%d bytes wait for the disk", tx.gather.bytes)
		}
	})
	must(t, s.Sync())
	after, err := os.Stat(path + "-wal")
	must(t, err)
	if grown := after.Size() - before.Size(); grown >= DefaultChunkSize {
		t.Errorf("the log grew by %d bytes", grown)
	}
}

// Rows that are not as long as their chunk, as another program may have left them, are completed.
func TestPatchOfAShortRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	want := bytes.Repeat([]byte("content "), DefaultChunkSize/4)
	must(t, s.WriteAt(f, want, 0, nil, Now()))
	must(t, s.Close())
	db, err := sqlite3.Open(path)
	must(t, err)
	must(t, db.Exec(`UPDATE fs_data SET data = substr(data, 1, 100) WHERE chunk_index = 0; DELETE FROM fs_data WHERE chunk_index = 1`))
	must(t, db.Close())
	clear(want[100:])

	s = openTest(t, path)
	f = lookup(t, s, "f")
	for _, off := range []int{50, 9000, DefaultChunkSize + 70} {
		must(t, s.WriteAt(f, []byte("patch"), int64(off), nil, Now()))
		copy(want[off:], "patch")
	}
	put(s, f)
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	defer s.Close()
	if !bytes.Equal(content(t, s, lookup(t, s, "f")), want) {
		t.Error("content differs")
	}
}

// Small changes of a large file wait for Linger to pass, so that those of one page of the database come into one transaction;
// new content does not, nor do changes of which so many wait that others would have to.
func TestPatchesGather(t *testing.T) {
	h := defaults
	h.linger = time.Hour
	const maxDirty = 8 * batchBytes
	s, err := openStore(filepath.Join(t.TempDir(), "a.db"), Options{Create: true, Root: rootAttr, MaxDirty: maxDirty}, h)
	must(t, err)
	defer s.Close()
	const size = 2 * batchBytes
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(f, make([]byte, size), 0, nil, Now()))
	must(t, s.Sync())
	patches := func(bytes int) {
		for off := 0; off < bytes; off += partSize {
			must(t, s.WriteAt(f, make([]byte, partSize), int64(off), nil, Now()))
		}
	}
	seq := uint64(0) // of the batch that gathered when all had been committed
	synced := func() {
		must(t, s.Sync())
		step(s, func(tx *Tx) { seq = tx.gather.seq })
	}
	waits := func() (waits bool) {
		step(s, func(tx *Tx) { waits = tx.gather.seq == seq && !tx.enough() })
		return waits
	}
	synced()
	patches(size)
	patches(size)
	if !waits() {
		t.Error("patches do not wait for others")
	}
	g := create(t, s, "g", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(g, make([]byte, batchBytes), 0, nil, Now()))
	if waits() {
		t.Error("new content waits for more")
	}
	must(t, s.WriteAt(f, make([]byte, maxDirty/2), 0, nil, Now()))
	synced()
	patches(maxDirty / 2)
	if waits() {
		t.Error("patches wait until others have to wait for them")
	}
	must(t, s.Truncate(f, 0, nil, Now()))
	step(s, func(tx *Tx) {
		if b := tx.gather; b.patched != 0 {
			t.Errorf("%d bytes of patches are left of a file that is empty", b.patched)
		}
	})
}
