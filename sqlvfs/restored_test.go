package sqlvfs

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"
)

// On a full disk the tree stays as it is, in memory too, and goes back when there is room.
func TestGoingBackOnAFullDisk(t *testing.T) {
	d, name := newDisk(t, honest)
	how := defaults
	how.query = "vfs=" + name
	s, err := openStore(filepath.Join(t.TempDir(), "a.db"), Options{Create: true, Root: rootAttr}, how)
	must(t, err)
	defer s.Close()
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	one, two := random(300<<10), bytes.Repeat([]byte("two"), 70<<10)
	must(t, s.WriteAt(in, one, 0, nil, Now()))
	_, err = s.Checkpoint(ByUser, "")
	must(t, err)
	must(t, s.Truncate(in, 0, nil, Now()))
	must(t, s.WriteAt(in, two, 0, nil, Now()))
	must(t, s.Sync())
	before, err := s.Checkpoints()
	must(t, err)
	d.mu.Lock()
	d.grows = func(int64) error { return syscall.ENOSPC }
	d.mu.Unlock()
	if _, err := s.GoBack(Undo, nil); Errno(err) != syscall.ENOSPC {
		t.Errorf("went back on a full disk: %v", err)
	}
	if !bytes.Equal(content(t, s, in), two) {
		t.Error("the content is another")
	}
	if after, err := s.Checkpoints(); err != nil || len(after) != len(before) {
		t.Errorf("checkpoints are %+v, %v", after, err)
	}
	d.mu.Lock()
	d.grows = nil
	d.mu.Unlock()
	_, err = s.GoBack(Undo, nil)
	must(t, err)
	if !bytes.Equal(content(t, s, in), one) {
		t.Error("the content is not what it was")
	}
}
