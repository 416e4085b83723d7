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

// What a file holds stays when going back takes away the file, but somebody has it open. It goes with the file the next time, when
// nobody has.
func TestGoingBackTwiceWithAFileOpenOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	_, err := s.Checkpoint(ByUser, "")
	must(t, err)
	file, link := create(t, s, "file", syscall.S_IFREG|0o600), create(t, s, "link", syscall.S_IFLNK|0o777)
	must(t, s.WriteAt(file, []byte("content"), 0, nil, Now()))
	step(s, func(tx *Tx) {
		must(t, tx.SetXattr(file, "user.x", []byte("value")))
		tx.SetTarget(link, "target")
	})
	back := func(to Destination) {
		t.Helper()
		_, err := s.GoBack(to, nil)
		must(t, err)
	}
	back(Undo)
	if got := content(t, s, file); string(got) != "content" {
		t.Errorf("who has the file open reads %q", got)
	}
	back(Redo)
	put(s, file)
	put(s, link)
	back(Undo)
	must(t, s.Close())
	if list := findings(t, path); list != "" {
		t.Errorf("fsck: %s", list)
	}

	s = openTest(t, path)
	back(Redo)
	file, link = lookup(t, s, "file"), lookup(t, s, "link")
	if got := content(t, s, file); string(got) != "content" {
		t.Errorf("the content is %q", got)
	}
	if got := ask(t, s, func(tx *Tx) (string, error) { return tx.Target(link) }); got != "target" {
		t.Errorf("the target is %q", got)
	}
	value := ask(t, s, func(tx *Tx) ([]byte, error) {
		value, _, err := tx.Xattr(file, "user.x")
		return value, err
	})
	if string(value) != "value" {
		t.Errorf("the extended attribute is %q", value)
	}
	must(t, s.Close())
	if list := findings(t, path); list != "" {
		t.Errorf("fsck: %s", list)
	}
}
