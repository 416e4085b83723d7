package fs

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/fusemount"
)

// slow is a file system in which reads wait.
type slow struct {
	FileSystem
	release   chan struct{}
	now, most atomic.Int64
}

func (s *slow) TryRead(Ino, []byte, int64) (int, bool) { return 0, false }

func (s *slow) Read(ino Ino, p []byte, off int64) (int, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-s.release
	return s.FileSystem.Read(ino, p, off)
}

// However many threads read, so many requests have their memory at once; the others come later.
func TestRequestsInMemoryAreBounded(t *testing.T) {
	fsys := &slow{release: make(chan struct{})}
	dir, mounted := serveWith(t, func(overlay FileSystem) FileSystem { fsys.FileSystem = overlay; return fsys })
	const threads = 3 * maxHeavy
	for i := range threads {
		if err := os.WriteFile(fmt.Sprint(dir, "/", i), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// One that is being handed over comes on top.
	fewest, most := int64(maxHeavy), int64(maxHeavy+1)
	if mounted.server.conn.Rings() {
		fewest, most = 2, threads // of one processor, where all may run; package wire has its own bound
	}
	ended := make(chan error, threads)
	for i := range threads {
		go func() {
			data, err := os.ReadFile(fmt.Sprint(dir, "/", i))
			if err == nil && string(data) != "x" {
				err = fmt.Errorf("%q was read", data)
			}
			ended <- err
		}()
	}
	for until := time.Now().Add(time.Minute); fsys.now.Load() < fewest && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	if now := fsys.now.Load(); now < fewest || now > most {
		t.Errorf("%d reads wait at once, want %d to %d", now, fewest, most)
	}
	close(fsys.release)
	for range threads {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("reads are left behind")
		}
	}
	if at := fsys.most.Load(); at > most {
		t.Errorf("%d reads waited at once", at)
	}
	if err := fusemount.Unmount(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := mounted.Join(t.Context()); err != nil {
		t.Error(err)
	}
}
