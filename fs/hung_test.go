package fs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs/wire"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/sqlvfs"
)

// hung is a file system in which a lookup of "hung..." waits.
type hung struct {
	FileSystem
	release chan struct{}
	waiting atomic.Int64
}

func (h *hung) Lookup(parent Ino, name string) (Entry, error) {
	if strings.HasPrefix(name, "hung") {
		h.waiting.Add(1)
		<-h.release
	}
	return h.FileSystem.Lookup(parent, name)
}

// Whatever hangs in a base whose file system hangs, the guest's other work goes on.
func TestAsRootHungBase(t *testing.T) {
	asRoot(t)
	inner := &hung{release: make(chan struct{})}
	t.Setenv("ART_WIRE", string(wire.Device))
	base, below := serveWith(t, func(overlay FileSystem) FileSystem { inner.FileSystem = overlay; return inner })
	t.Setenv("ART_WIRE", "")
	dir, above := serveOver(t, base)
	if above.server.conn.Rings() {
		t.Error("requests go by rings")
	}

	const hanging, workers = 24, 4
	looked, ended := make(chan error, hanging), make(chan error, workers)
	for i := range hanging {
		go func() {
			_, err := os.Lstat(filepath.Join(dir, workspace, fmt.Sprint("hung", i)))
			looked <- err
		}()
	}
	for i := range workers {
		go func() { ended <- workBeside(dir, fmt.Sprint(i), inner, hanging) }()
	}
	for range workers {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Error("nothing goes on")
		}
	}
	close(inner.release)
	for range hanging {
		if err := <-looked; !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
	if err := fusemount.Unmount(dir, false); err != nil {
		t.Fatal(err)
	}
	// The overlay has the base open: so the connection is aborted.
	if err := unix.Unmount(base, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	for _, mounted := range []*Mounted{above, below} {
		if err := mounted.Join(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// workBeside works in an overlay, in its own part and in the base, until so many lookups hang there, and a while longer.
func workBeside(dir, who string, base *hung, hanging int64) error {
	begin := time.Now()
	for i, more := 0, 200; more > 0; i++ {
		if base.waiting.Load() >= hanging {
			more--
		} else if time.Since(begin) > time.Minute {
			return fmt.Errorf("%d lookups hang, want %d", base.waiting.Load(), hanging)
		}
		made := filepath.Join(dir, fmt.Sprint("made", who, "-", i))
		err := errors.Join(os.Mkdir(made, 0o755), os.Remove(made))
		if _, serr := os.Lstat(filepath.Join(dir, workspace, fmt.Sprint("free", who, "-", i))); !errors.Is(serr, os.ErrNotExist) {
			err = errors.Join(err, serr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serveOver mounts an overlay over a base.
func serveOver(t *testing.T, base string) (dir string, mounted *Mounted) {
	t.Helper()
	db := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlvfs.Open(db, sqlvfs.Options{Create: true, Root: rootAttr()})
	if err != nil {
		t.Fatal(err)
	}
	host, err := OpenHost(base, db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(); store.Close() })
	overlay, err := NewOverlay(OverlayOptions{Store: store, Base: host, Name: workspace})
	if err != nil {
		t.Fatal(err)
	}
	return serveThis(t, overlay)
}
