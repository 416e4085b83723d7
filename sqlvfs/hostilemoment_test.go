package sqlvfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A row of history that is larger than any should be is an error for who needs it, and no other.
func TestHugeRowsOfHistory(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	in := create(t, s, "f", syscall.S_IFREG|0o600)
	_, err := s.Checkpoint(ByUser, "")
	must(t, err)
	must(t, s.WriteAt(in, []byte("more"), 0, nil, Now()))
	put(s, in)
	must(t, s.Close())
	alter(t, path, "UPDATE art_old_inode SET mode=zeroblob(100000000)")
	look := func() error {
		s, err := Open(path, Options{At: "1"})
		if err == nil {
			_, err = readTree(s)
			err = errors.Join(err, s.Close())
		}
		return err
	}
	if err := look(); err == nil {
		t.Error("it can be shown")
	}
	s = openTest(t, path)
	if _, err := s.GoBack(Undo, nil); err == nil {
		t.Error("it can be gone back to")
	}
	put(s, create(t, s, "goes on", syscall.S_IFREG|0o600))
	must(t, s.Close())
	if findings(t, path) == "" {
		t.Error("check finds nothing")
	}
}

// A checkpoint is found however many came after it.
func TestManyCheckpoints(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	_, err := s.Checkpoint(ByUser, "first")
	must(t, err)
	must(t, s.Close())
	alter(t, path, `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i<12000)
		INSERT INTO art_checkpoint (id, made, made_nsec, kind, max_ino) SELECT i, 0, 0, 'rest', 1 FROM n`)
	for _, name := range []string{"1", "first", "12000"} {
		s, err := Open(path, Options{At: name})
		must(t, err)
		must(t, s.Close())
	}
	s = openTest(t, path)
	put(s, create(t, s, "new", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	must(t, s.Close())
	s = openTest(t, path)
	c, err := s.GoBack(To("first"), nil)
	must(t, err)
	if c.Restored != 1 {
		t.Errorf("back at %+v", c)
	}
	must(t, s.Close())
}

// Undo goes to before the last change, past checkpoints after which nothing has changed.
func TestUndoGoesToTheLastChange(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	for _, name := range []string{"", "one", "two"} {
		if name != "" {
			put(s, create(t, s, name, syscall.S_IFREG|0o600))
		}
		for i := range 3 { // a label for a tree that has one is a checkpoint more
			_, err := s.Checkpoint(ByUser, fmt.Sprintf("%s, time %d", name, i))
			must(t, err)
		}
	}
	must(t, s.Close())
	for _, want := range []int{1, 0} {
		s = openTest(t, path)
		_, err := s.GoBack(Undo, nil)
		must(t, err)
		must(t, s.Close())
		if got := names(t, path); len(got) != want {
			t.Errorf("there is %v", got)
		}
	}
	s = openTest(t, path)
	if c, err := s.GoBack(Undo, nil); !errors.Is(err, ErrNothingToUndo) {
		t.Errorf("back at %+v, %v", c, err)
	}
	must(t, s.Close())
}

// Who went back, but cannot make that durable, says so, and shows what is there.
func TestGoingBackIsNotDurable(t *testing.T) {
	s, d := failing(t)
	_, err := s.Checkpoint(ByUser, "")
	must(t, err)
	put(s, create(t, s, "later", syscall.S_IFREG|0o600))
	path := s.Path()
	must(t, s.Close())
	h := defaults
	h.query = "vfs=disk of " + t.Name()
	s, err = openStore(path, Options{}, h)
	must(t, err)
	put(s, create(t, s, "now", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	d.failWith(only(synced, syscall.EIO))
	c, err := s.GoBack(Undo, nil)
	if err == nil || !strings.Contains(err.Error(), "back at checkpoint 1") || c.Restored != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	d.failWith(nil)
	children, err := Query(s, func(tx *Tx) ([]Child, error) { return tx.Children(tx.Root()) })
	if err != nil || len(children) > 0 {
		t.Errorf("it shows %v, %v", children, err)
	}
	must(t, s.Close())
	must(t, checkClean(path))
}

// A transaction that is left by a panic is not committed.
func TestPanicInATransaction(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	put(s, create(t, s, "f", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	c := s.writer.conn
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic has gone")
			}
		}()
		err := c.Exec("BEGIN IMMEDIATE")
		defer database.End(c.Conn, &err)
		must(t, c.Exec("DELETE FROM fs_dentry"))
		panic(os.ErrInvalid)
	}()
	must(t, s.Close())
	if got := names(t, path); len(got) != 1 {
		t.Errorf("there is %v", got)
	}
}

// Going back is refused to where a name leads to an inode that is gone, be there one or many.
func TestNamesOfWhatIsGone(t *testing.T) {
	for _, files := range []int{1, 20} {
		path := filepath.Join(memoryDir(t), "a.db")
		s := openTest(t, path)
		for i := range files {
			put(s, create(t, s, fmt.Sprint(i), syscall.S_IFREG|0o600))
		}
		_, err := s.Checkpoint(ByUser, "")
		must(t, err)
		for i := range files {
			in := lookup(t, s, fmt.Sprint(i))
			must(t, s.WriteAt(in, []byte("more"), 0, nil, Now()))
			put(s, in)
		}
		must(t, s.Close())
		alter(t, path, "UPDATE art_old_inode SET there=0 WHERE ino=(SELECT max(ino) FROM art_old_inode)")
		s = openTest(t, path)
		if _, err := s.GoBack(Undo, nil); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "which is gone") {
			t.Errorf("%d files: %v", files, err)
		}
		must(t, s.Close())
	}
}
