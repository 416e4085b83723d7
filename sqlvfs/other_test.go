package sqlvfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// What another program writes is found when art opens the database the next time, and once. Copies and sessions that were killed are no
// such thing.
func TestOtherProgramsAreFound(t *testing.T) {
	newest := func(path string) (list []Checkpoint) {
		s, err := Open(path, Options{ReadOnly: true})
		must(t, err)
		defer s.Close()
		list, err = s.Checkpoints()
		must(t, err)
		return list
	}
	for what, c := range map[string]struct {
		change func(path string)
		found  bool
	}{
		"nothing": {func(string) {}, false},
		"content": {func(path string) { alter(t, path, "UPDATE fs_data SET data=CAST('two' AS BLOB)") }, true},
		"a mode":  {func(path string) { alter(t, path, "UPDATE fs_inode SET mode=33261 WHERE ino=2") }, true},
		"a name":  {func(path string) { alter(t, path, "UPDATE fs_dentry SET name='g'") }, true},
		"a file that is gone": {func(path string) {
			alter(t, path, "DELETE FROM fs_dentry; DELETE FROM fs_inode WHERE ino=2; DELETE FROM fs_data; DELETE FROM fs_origin")
		}, true},
		"a new file": {func(path string) {
			alter(t, path, "INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (9, 33188, 1, 0, 1, 1, 1); INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('n', 1, 9)")
		}, true},
		"its time": {func(path string) { must(t, os.Chtimes(path, time.Now(), time.Unix(1, 0))) }, false},
		"a copy of it": {func(path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			must(t, os.Remove(path))
			must(t, os.WriteFile(path, data, 0o600))
		}, false},
		"a copy of it in its place": {func(path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, data, 0o600))
		}, false},
		"an older state in its place": {func(path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			s := openTest(t, path)
			_, err = s.Checkpoint(ByUser, "later")
			must(t, err)
			put(s, create(t, s, "later", syscall.S_IFREG|0o600))
			_, err = s.Checkpoint(ByUser, "last")
			must(t, err)
			must(t, s.Close())
			must(t, os.WriteFile(path, data, 0o600))
		}, false},
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		s := openTest(t, path)
		in := create(t, s, "f", syscall.S_IFREG|0o644)
		must(t, s.WriteAt(in, []byte("one"), 0, nil, Now()))
		step(s, func(tx *Tx) {
			tx.SetBirth(in, Timespec{Sec: 1}, true)
			must(t, tx.SetXattr(in, "user.k", nil))
			tx.SetOrigin(in, &Origin{Base: "ws", Path: "f", Number: 7})
		})
		put(s, in)
		_, err := s.Checkpoint(ByUser, "mine")
		must(t, err)
		must(t, s.Close())
		if !statesLeft(path) {
			t.Fatalf("%s: the file system has no attributes of users: TMPDIR has to be on one that has", path)
		}
		before := len(newest(path))
		c.change(path)
		upTo, err := fsck.ByOther(path)
		if must(t, err); (upTo != 0) != c.found {
			t.Errorf("%s: check finds %d", what, upTo)
		}
		s = openTest(t, path)
		found := s.OtherProgram()
		must(t, s.Close())
		if (found != nil) != c.found || c.found && (found.UpTo != int64(before) || found.Made != found.UpTo+1) {
			t.Errorf("%s: %v", what, found)
		}
		if list := newest(path); c.found && (list[0].Kind != AfterOther || len(list) != before+1) {
			t.Errorf("%s: the newest checkpoint is %+v", what, list[0])
		}
		s = openTest(t, path)
		if again := s.OtherProgram(); again != nil {
			t.Errorf("%s: it is found again: %v", what, again)
		}
		must(t, s.Close())
		if damage, err := fsck.Check(path); err != nil || len(damage) > 0 {
			t.Errorf("%s: check: %v %v", what, damage, err)
		}
	}
}

// Where there is no room for the checkpoint, the next time finds it again.
func TestOtherProgramOnAFullDisk(t *testing.T) {
	s, d := failing(t)
	path, h := s.path, defaults
	h.query, h.retry = "vfs=disk of "+t.Name(), 5*time.Millisecond
	_, err := s.Checkpoint(ByUser, "mine")
	must(t, err)
	must(t, s.Close())
	alter(t, path, "UPDATE fs_inode SET mode=16832 WHERE ino=1")
	for _, full := range []bool{true, false} {
		if full {
			d.failWith(only(wrote, syscall.ENOSPC))
		}
		s, err := openStore(path, Options{}, h)
		must(t, err)
		d.failWith(nil)
		if found := s.OtherProgram(); found == nil || (found.Made == 0) != full {
			t.Errorf("full %v: %v", full, found)
		}
		must(t, s.Close())
	}
}

func statesLeft(path string) bool {
	_, err := syscall.Getxattr(path, "user.art.left", nil)
	return err == nil
}

// While a database is written, or after its writer was killed, nobody is said to have written it.
func TestKilledWriterIsNoOtherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	_, err := s.Checkpoint(ByUser, "mine")
	must(t, err)
	must(t, s.Close())
	s = openTest(t, path)
	if statesLeft(path) {
		t.Error("it says how it was left while it is written")
	}
	put(s, create(t, s, "f", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	copied := filepath.Join(t.TempDir(), "b.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(copied+suffix, data, 0o600))
	}
	must(t, s.Close())
	s = openTest(t, copied)
	if found := s.OtherProgram(); found != nil {
		t.Error(found)
	}
	must(t, s.Close())
}
