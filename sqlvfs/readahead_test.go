package sqlvfs

import (
	"bytes"
	"io"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// readInOrder reads a file as the kernel does ahead of a program.
func readInOrder(t *testing.T, s *Store, in *Inode) []byte {
	t.Helper()
	var all []byte
	p := make([]byte, 2*LongRead)
	for {
		n, err := s.ReadAt(in, p, int64(len(all)), nil)
		all = append(all, p[:n]...)
		if err == io.EOF {
			return all
		}
		must(t, err)
	}
}

// What is read ahead of a file that is changed between any two reads, and committed at any moment, is what the file has.
func TestReadAheadOfWhatChanges(t *testing.T) {
	const most = 4*stretchSize + 5
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	source := rand.NewChaCha8([32]byte{})
	random := rand.New(source)
	var want []byte
	write := func(off, n int) {
		p := make([]byte, n)
		source.Read(p)
		want = append(want, make([]byte, max(0, off+n-len(want)))...)
		copy(want[off:], p)
		must(t, s.WriteAt(f, p, int64(off), nil, Now()))
	}
	write(0, most)
	truncate := func(size int) {
		want = append(want, make([]byte, max(0, size-len(want)))...)[:size]
		must(t, s.Truncate(f, int64(size), nil, Now()))
	}
	ahead := 0
	for range 150 {
		switch random.IntN(5) {
		case 0:
			write(random.IntN(most-300_000), 1+random.IntN(300_000))
		case 1:
			write(random.IntN(most-5000), 1+random.IntN(5000))
		case 2:
			truncate((8 + random.IntN(56)) * DefaultChunkSize)
			if random.IntN(2) == 0 {
				truncate(most)
			}
		default: // it stays as it is
		}
		for range 2 {
			if !bytes.Equal(readInOrder(t, s, f), want) {
				t.Fatal("what is read is not what was written")
			}
			kept, _ := s.ahead.holds()
			ahead += kept
			if random.IntN(2) == 0 {
				must(t, s.Sync())
			}
		}
	}
	if ahead == 0 {
		t.Error("nothing was ever read ahead")
	}
}

// holds tells how many stretches there are, and how much memory for more.
func (a *readAhead) holds() (kept, free int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.kept), len(a.free)
}

// The memory of what was read ahead is given back when nobody reads any more.
func TestReadAheadIsGivenUp(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	want := bytes.Repeat([]byte("content "), stretchSize)
	must(t, s.WriteAt(f, want, 0, nil, Now()))
	must(t, s.Sync())
	for range 2 {
		if !bytes.Equal(readInOrder(t, s, f), want) {
			t.Fatal("what is read is not what was written")
		}
		if kept, free := s.ahead.holds(); kept+free == 0 {
			t.Error("nothing was read ahead")
		}
		for end := time.Now().Add(10 * keptUnused); ; time.Sleep(keptUnused / 10) {
			if kept, free := s.ahead.holds(); kept+free == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("stretches are kept")
			}
		}
	}
	put(s, f)
}

// What was read ahead is forgotten when the tree goes back.
func TestReadAheadBeforeGoingBack(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	older, newer := bytes.Repeat([]byte("older"), stretchSize), bytes.Repeat([]byte("newer"), stretchSize)
	must(t, s.WriteAt(f, older, 0, nil, Now()))
	_, err := s.Checkpoint(ByUser, "first")
	must(t, err)
	must(t, s.WriteAt(f, newer, 0, nil, f.Attr.Mtime))
	must(t, s.Sync())
	for range 2 {
		if !bytes.Equal(readInOrder(t, s, f), newer) {
			t.Fatal("what is read is not what was written")
		}
	}
	_, err = s.GoBack(To("first"), nil)
	must(t, err)
	if !bytes.Equal(readInOrder(t, s, f), older) {
		t.Error("what is read is not of the tree that is back")
	}
}
