package fs

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
)

// inProcess is an overlay of a base and a database that is asked without a kernel.
type inProcess struct {
	base, db string

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
	var err error
	s.store, err = sqlvfs.Open(s.db, sqlvfs.Options{Create: true, Root: rootAttr()})
	if err == nil {
		s.host, err = OpenHost(s.base, s.db)
	}
	if err == nil {
		s.overlay, err = NewOverlay(OverlayOptions{Store: s.store, Base: s.host, Name: workspace, Logf: func(f string, a ...any) {
			fmt.Fprintf(&s.logged, f+"\n", a...)
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.kernel = newKernel(s.overlay)
}

func (s *inProcess) remount(t rapid.TB) {
	t.Helper()
	plus := s.plus
	s.forget()
	if n := len(s.overlay.nodes); n != 1 {
		t.Errorf("%d nodes are live though the kernel has forgotten all but the root", n)
	}
	if err := s.store.Close(); err != nil {
		t.Error(err)
	}
	s.host.Close()
	sound(t, s.db)
	s.begin(t)
	s.plus = plus
}

func (s *inProcess) end() {
	s.store.Close()
	s.host.Close()
}

// sound proves that a database keeps the rules of its format.
func sound(t rapid.TB, db string) {
	t.Helper()
	found, err := sqlvfs.Check(db)
	if err != nil {
		t.Error(err)
	}
	for _, f := range found {
		t.Errorf("check: inode %d: %s", f.Ino, f.Text)
	}
}
