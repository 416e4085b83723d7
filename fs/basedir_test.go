package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

func TestOpenDirectoriesAreBounded(t *testing.T) {
	base := t.TempDir()
	const dirs = 2 * maxOpendirs
	for i := range dirs {
		dir := filepath.Join(base, fmt.Sprintf("d%d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	store, err := sqlvfs.Open(filepath.Join(t.TempDir(), "a.db"), sqlvfs.Options{Create: true, Root: rootAttr()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	host, err := OpenHost(base)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	var overlays []*Overlay
	for i := range 2 {
		s := store
		if i > 0 {
			if s, err = sqlvfs.Open(filepath.Join(t.TempDir(), "a.db"), sqlvfs.Options{Create: true, Root: rootAttr()}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
		}
		overlay, err := NewOverlay(OverlayOptions{Store: s, Base: host, Name: workspace, Watches: 4 * maxOpendirs})
		if err != nil {
			t.Fatal(err)
		}
		defer overlay.Connect(noCache{})()
		overlays = append(overlays, overlay)
	}
	lookup := func(overlay *Overlay, parent Ino, name string) Ino {
		e, err := overlay.Lookup(parent, name)
		if err != nil || e.Ino == 0 {
			t.Fatalf("%s: %+v, %v", name, e, err)
		}
		return e.Ino
	}
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := descriptors()
	for _, overlay := range overlays { // one after the other, which share what there is
		ws := lookup(overlay, RootIno, workspace)
		for i := range dirs {
			dir := lookup(overlay, ws, fmt.Sprintf("d%d", i))
			for range 3 {
				lookup(overlay, dir, "f")
			}
		}
		if n := descriptors() - before; n < 1 || n > int(mostOpendirs()) {
			t.Errorf("%d directories are open, want some, and at most %d", n, mostOpendirs())
		}
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || uint64(mostOpendirs()) > limit.Cur/4 {
		t.Errorf("%d directories of %d descriptors, %v", mostOpendirs(), limit.Cur, err)
	}
	for end := time.Now().Add(10 * opendirTTL); descriptors() > before; time.Sleep(opendirTTL / 10) {
		if time.Now().After(end) {
			t.Fatalf("%d directories are still open", descriptors()-before)
		}
	}
}
