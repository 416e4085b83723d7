package fs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// inProcess is an overlay of a base and a database that is asked without a kernel.
type inProcess struct {
	base, db string
	hide     []string // paths on the host
	show     []string // same of the base: of the directories in it that hold these, nothing else
	watches  int      // how many directories may be watched
	cache    *cache   // nil: not connected
	merged   bool     // all directories of the delta are merged with the base's, see [Overlay.mergeBase]

	disconnect func()
	*kernel
	store   *sqlvfs.Store
	host    *Host
	overlay *Overlay
	logged  strings.Builder
}

var _ system = (*inProcess)(nil)

// rootAttr are the attributes of a new database's root, which holds the workspace.
func rootAttr() sqlvfs.Attr {
	now := sqlvfs.Now()
	return sqlvfs.Attr{
		Mode: syscall.S_IFDIR | 0o755, Nlink: 3, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		Atime: now, Mtime: now, Ctime: now,
	}
}

func (s *inProcess) begin(t rapid.TB) {
	t.Helper()
	s.beginOver(t, s.base)
}

// beginOver begins a session with another base, or none.
func (s *inProcess) beginOver(t rapid.TB, base string) {
	t.Helper()
	var err error
	s.host = nil
	s.store, err = sqlvfs.Open(s.db, sqlvfs.Options{Create: true, Root: rootAttr()})
	if err == nil && base != "" {
		s.host, err = OpenHost(base, append(s.hide, s.db)...)
	}
	if err == nil && s.host != nil {
		err = s.host.ShowOnly(s.show...)
	}
	if err == nil {
		s.overlay, err = NewOverlay(OverlayOptions{Store: s.store, Base: s.host, Name: workspace, Watches: s.watches, Logf: func(f string, a ...any) {
			fmt.Fprintf(&s.logged, f+"\n", a...)
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.merged {
		s.overlay.mergeDirs = func(string) bool { return true }
	}
	s.kernel = newKernel(s.overlay)
	s.disconnect = func() {}
	if s.cache != nil {
		s.disconnect = s.overlay.Connect(s.cache)
	}
}

func (s *inProcess) remount(t rapid.TB) {
	t.Helper()
	plus := s.plus
	if n := unnoted(s.overlay); n != 0 {
		t.Errorf("%d files without a name are not noted", n)
	}
	s.forget()
	s.disconnect() // what was in doubt is held until it is settled
	s.overlay.view(func(*tx) error {
		if n := len(s.overlay.nodes); n != 1 {
			t.Errorf("%d nodes are live though the kernel has forgotten all but the root", n)
		}
		if ws := s.overlay.watches; ws != nil && (ws.count != 0 || len(ws.byID) != 0 || ws.root != nil) {
			t.Errorf("%d directories are watched though the kernel has forgotten all but the root", ws.count)
		}
		return nil
	})
	if err := s.store.Close(); err != nil {
		t.Error(err)
	}
	s.host.Close()
	sound(t, s.db)
	s.begin(t)
	s.plus = plus
}

func (s *inProcess) end() {
	s.disconnect()
	s.store.Close()
	if s.host != nil {
		s.host.Close()
	}
}

// sound proves that a database keeps the rules of its format.
func sound(t rapid.TB, db string) {
	t.Helper()
	found, err := fsck.Check(db)
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		t.Errorf("check: inode %d: %s", f.Ino, f.Text)
	}
}

// flatten brings the base in, giving up once on the way, and proves that the database keeps nothing
// of the base but a whiteout of the workspace. Then a session begins that has no base.
func (s *inProcess) flatten(t rapid.TB, steps int, compare func()) {
	t.Helper()
	for _, steps := range []int{steps, 1 << 30} {
		ctx, cancel := context.WithCancel(context.Background())
		s.forget()
		err := s.overlay.Flatten(ctx, FlattenOptions{
			Progress: func(objects int, _ int64) {
				if steps -= objects; steps < 0 {
					cancel()
				}
			},
			Failed: func(path string, err error) { t.Errorf("flatten %q: %v", path, err) },
		})
		cancel()
		if err != nil && (err != context.Canceled || steps >= 0) {
			t.Fatalf("flatten: %v", err)
		}
		s.remount(t)
		compare()
	}
	s.forget()
	for _, table := range []string{"art_origin", "fs_origin"} {
		if n := rows(t, s.db, table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if n := rows(t, s.db, "art_whiteout"); n > 1 {
		t.Errorf("%d whiteouts are left", n)
	}
	s.store.Close()
	s.host.Close()
	s.beginOver(t, "")
	compare()
}
