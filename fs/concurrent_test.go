package fs

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// The server reads and syncs beside everything else. Every byte that is read must be one that was
// there at some time: the host's, zero behind a truncation, or one that was written.
func TestReadersBesideAWriter(t *testing.T) {
	s := newSession(t)
	const size = 300_000
	s.plant("f", noise[:size])
	f, err := s.open("ws/f", unix.O_RDWR, 0)
	s.must(err)
	defer f.Release()
	var wg sync.WaitGroup
	var done atomic.Bool
	var reads atomic.Int64
	for who := range 3 {
		rnd := rand.New(rand.NewPCG(uint64(who), 1))
		wg.Go(func() {
			for !done.Load() {
				off := rnd.Int64N(size)
				buf := make([]byte, 1+rnd.IntN(150_000))
				n, err := f.ReadAt(buf, off)
				if err != nil {
					t.Errorf("read at %d: %v", off, err)
					return
				}
				for i, b := range buf[:n] {
					at := off + int64(i)
					if b != 0 && b != noise[at%(1<<20)] && b != ^noise[at%(1<<20)] {
						t.Errorf("byte %d is %#x, which was never there", at, b)
						return
					}
				}
				reads.Add(1)
			}
		})
	}
	wg.Go(func() {
		for !done.Load() {
			if err := s.sync(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	inverse := make([]byte, size)
	for i := range inverse {
		inverse[i] = ^noise[i]
	}
	rnd := rand.New(rand.NewPCG(9, 9))
	for i := range 5_000 {
		off := rnd.Int64N(size - 1)
		data := [][]byte{inverse, noise}[i%2][off : off+1+rnd.Int64N(min(70_000, size-off))]
		err := f.WriteAt(data, off)
		if i%50 == 49 {
			err = errors.Join(err, f.truncate(rnd.Int64N(size)), f.WriteAt(inverse[size-1:], size-1))
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	done.Store(true)
	wg.Wait()
	if reads.Load() == 0 {
		t.Error("nothing was read")
	}
	t.Logf("%d reads", reads.Load())
}
