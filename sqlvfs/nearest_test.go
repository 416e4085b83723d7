package sqlvfs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Of a file that was changed and brought back again and again, only its last version is looked at.
func TestGoesBackFromNearest(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(in, []byte("first"), 0, nil, Now()))
	first, err := s.Checkpoint(ByUser, "")
	must(t, err)
	for range 3 {
		must(t, s.WriteAt(in, []byte("other"), 0, nil, Now()))
		done, err := s.GoBack(Undo, nil)
		must(t, err)
		if done.Restored != first.ID || string(content(t, s, in)) != "first" {
			t.Errorf("went back to %+v, and the file holds %q", done, content(t, s, in))
		}
		// Keys gather where history has several versions of a row.
		n, err := queryNumber(s.writer.conn, "SELECT count(*) FROM temp.art_changed")
		must(t, err)
		if n != 0 {
			t.Errorf("%d rows have several versions since the checkpoint that was gone back to", n)
		}
	}
	// Of what was brought back in part, the rest is another tree.
	other := create(t, s, "g", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(other, []byte("other"), 0, nil, Now()))
	must(t, s.WriteAt(in, []byte("other"), 0, nil, Now()))
	put(s, other)
	_, err = s.GoBack(Part("1", []string{"f"}), nil)
	must(t, err)
	_, err = s.GoBack(To("1"), nil)
	must(t, err)
	if string(content(t, s, in)) != "first" {
		t.Errorf("the file holds %q", content(t, s, in))
	}
	if n := count(t, s, "SELECT count(*) FROM fs_dentry"); n != 1 {
		t.Errorf("there are %d names", n)
	}
	put(s, in)
}
