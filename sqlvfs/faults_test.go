package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// failing opens a store on a disk that can be told to fail.
func failing(t *testing.T) (*Store, *disk) {
	d, name := newDisk(t, honest)
	h := defaults
	h.query, h.retry = "vfs="+name, 5*time.Millisecond
	s, err := openStore(filepath.Join(memoryDir(t), "a.db"), Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	return s, d
}

// only makes changes of one kind fail.
func only(kind eventKind, errno syscall.Errno) func(eventKind, int) error {
	return func(k eventKind, _ int) error {
		if k == kind {
			return &os.PathError{Op: "pwrite", Path: "a.db", Err: errno} // as os.File does
		}
		return nil
	}
}

// Whatever the disk refuses with comes through SQLite to where it is told to the payload. What was
// there stays, no change is lost, and all goes on when the disk does.
func TestErrorsOfTheDisk(t *testing.T) {
	for _, kind := range []eventKind{wrote, synced} {
		for errno, want := range map[syscall.Errno]syscall.Errno{
			syscall.ENOSPC: syscall.ENOSPC,
			syscall.EDQUOT: syscall.EDQUOT,
			syscall.EROFS:  syscall.EROFS,
			syscall.EFBIG:  syscall.ENOSPC,
			syscall.EIO:    syscall.EIO,
			syscall.EPERM:  syscall.EIO,
		} {
			s, d := failing(t)
			before := bytes.Repeat([]byte("before"), 30_000)
			f := create(t, s, "f", syscall.S_IFREG|0o600)
			must(t, s.WriteAt(f, before, 0, nil, Now()))
			must(t, s.Sync())

			d.failWith(only(kind, errno))
			g := create(t, s, "g", syscall.S_IFREG|0o600)
			must(t, s.WriteAt(g, before, 0, nil, Now()))
			if got := Errno(s.Sync()); got != want {
				t.Errorf("%v of a disk that answers %v: %v, want %v", kind, errno, got, want)
			}
			if got := Errno(s.WriteAt(g, before, 0, nil, Now())); got != want {
				t.Errorf("write that follows %v: %v, want %v", errno, got, want)
			}
			if !bytes.Equal(content(t, s, f), before) || !bytes.Equal(content(t, s, g), before) {
				t.Error("content cannot be read meanwhile")
			}

			d.failWith(nil)
			must(t, recovers(s))
			must(t, s.WriteAt(g, []byte("after"), 0, nil, Now()))
			path := s.Path()
			must(t, s.Close())
			must(t, checkClean(path))
			s = openTest(t, path)
			if got := content(t, s, lookup(t, s, "g")); !bytes.HasPrefix(got, []byte("afterebefore")) || len(got) != len(before) {
				t.Errorf("g is %d bytes, %q...", len(got), got[:20])
			}
			must(t, s.Close())
		}
	}
}

// What was to be deleted by a transaction that failed must be deleted by the next one.
func TestDeletionInAFailedTransaction(t *testing.T) {
	s, d := failing(t)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.Sync())
	d.failWith(only(wrote, syscall.EIO))
	step(s, func(tx *Tx) {
		f.Attr.Nlink = 0
		tx.Dirty(f)
		must(t, tx.Unlink(tx.Root(), "f"))
		tx.Put(f)
	})
	if s.Sync() == nil {
		t.Error("the disk takes nothing, but Sync succeeds")
	}
	d.failWith(nil)
	must(t, recovers(s))
	must(t, s.Close())
	must(t, checkClean(s.Path()))
}

// The number of a base that a failed transaction has made is not there for the next one.
func TestBaseInAFailedTransaction(t *testing.T) {
	s, d := failing(t)
	d.failWith(only(wrote, syscall.EIO))
	dir := create(t, s, "d", syscall.S_IFDIR|0o700)
	step(s, func(tx *Tx) {
		tx.SetOrigin(dir, &Origin{Base: "ws", Path: "d", Number: uint64(MaxIno)})
		tx.Put(dir)
	})
	if s.Sync() == nil {
		t.Error("the disk takes nothing, but Sync succeeds")
	}
	d.failWith(nil)
	must(t, recovers(s))
	must(t, s.Close())
	must(t, checkClean(s.Path()))
}

// After a failed sync the kernel believes that all is written. The next sync that succeeds must have
// written it again: nothing of what it promises is lost with the power then.
func TestSyncAfterAFailedSync(t *testing.T) {
	s, d := failing(t)
	must(t, s.Sync())
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(f, []byte("kept"), 0, nil, Now()))
	d.failWith(only(synced, syscall.EIO))
	if got := Errno(s.Sync()); got != syscall.EIO {
		t.Errorf("sync: %v", got)
	}
	d.failWith(nil)
	must(t, recovers(s))
	p, rnd := newPlatter(nil, nil), rand.New(rand.NewPCG(1, 1))
	for _, e := range d.events {
		p.play(e, rnd)
	}
	dir := t.TempDir()
	for name, data := range p.cut(rnd) {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	must(t, s.Close())
	s = openTest(t, filepath.Join(dir, "a.db"))
	defer s.Close()
	if got := content(t, s, lookup(t, s, "f")); string(got) != "kept" {
		t.Errorf("content is %q", got)
	}
}

// A database that was only about to be made is made the next time, from whatever is there. A file
// that is no database stays one, also beside a journal.
func TestMakingOfADatabaseIsInterrupted(t *testing.T) {
	d, name := newDisk(t, honest)
	h := defaults
	h.query = "vfs=" + name
	s, err := openStore(filepath.Join(memoryDir(t), "a.db"), Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	must(t, s.Close())
	rnd := rand.New(rand.NewPCG(1, 1))
	p := newPlatter(nil, nil)
	torn, all := 0, memoryDir(t)
	for n, e := range d.events {
		p.play(e, rnd)
		tries := 1
		if n < 15 { // until there is a header
			tries = 20
		}
		for i := range tries {
			img := p.cut(rnd)
			dir := filepath.Join(all, fmt.Sprint(n, "-", i))
			must(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "a.db")
			for name, data := range img {
				must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
			}
			if data := img["a.db"]; len(data) > 0 && !bytes.HasPrefix(data, []byte("SQLite format 3")) {
				torn++
			}
			if err := checkClean(path); err != nil && !errors.Is(err, ErrNotDatabase) && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("check: %v", err)
			}
			must(t, openTest(t, path).Close())
			must(t, checkClean(path))
		}
	}
	if torn == 0 {
		t.Error("no file was ever in between")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.txt")
	text := bytes.Repeat([]byte("no database\n"), 100)
	must(t, os.WriteFile(path, text, 0o600))
	must(t, os.WriteFile(path+"-journal", text, 0o600))
	if _, err := Open(path, Options{Create: true}); !errors.Is(err, ErrNotDatabase) {
		t.Errorf("open: %v", err)
	}
	for _, p := range []string{path, path + "-journal"} {
		if data, _ := os.ReadFile(p); !bytes.Equal(data, text) {
			t.Errorf("%s was changed", p)
		}
	}
}

// The last transaction finds no room, but its failure makes some. It is made then, though the session
// is over.
func TestLastTransactionIsTriedAgain(t *testing.T) {
	s, d := failing(t)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(f, []byte("content"), 0, nil, Now()))
	put(s, f)
	full := true
	d.failWith(func(k eventKind, _ int) error {
		if k == wrote && full {
			full = false
			return &os.PathError{Op: "pwrite", Path: "a.db", Err: syscall.ENOSPC}
		}
		return nil
	})
	path := s.Path()
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	defer s.Close()
	if got := content(t, s, lookup(t, s, "f")); string(got) != "content" {
		t.Errorf("f holds %q", got)
	}
}

// What there was no room for has been deleted, but somebody holds it to the end. All else is saved.
func TestNamelessFileNeedsNoRoom(t *testing.T) {
	s, d := failing(t)
	put(s, create(t, s, "kept", syscall.S_IFREG|0o600))
	must(t, s.Sync())
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	room := 1 << 20
	d.failWith(func(k eventKind, size int) error {
		if k != wrote {
			return nil
		}
		if size > room {
			return &os.PathError{Op: "pwrite", Path: "a.db", Err: syscall.ENOSPC}
		}
		room -= size
		return nil
	})
	must(t, s.WriteAt(f, make([]byte, 4<<20), 0, nil, Now()))
	if got := Errno(s.Sync()); got != syscall.ENOSPC {
		t.Errorf("sync on a full disk: %v", got)
	}
	step(s, func(tx *Tx) {
		f.Attr.Nlink = 0
		tx.Dirty(f)
		must(t, tx.Unlink(tx.Root(), "f"))
	})
	d.mu.Lock()
	room = 1 << 20 // the checkpoint that followed the failure has made some
	d.mu.Unlock()
	path := s.Path()
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	defer s.Close()
	put(s, lookup(t, s, "kept"))
}

// What was to be committed may be void by the time the writer takes it: then it has nothing to do, and
// nothing to rest from.
func TestNothingToCommit(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.commitPending(); !ok {
		t.Error("nothing was committed, and that failed")
	}
	if s.writer.conn != nil || !s.writer.maintained {
		t.Error("it has a connection, or is to rest with none")
	}
}

// A writer that cannot open its connection promises nothing, and tries again.
func TestWriterCannotConnect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	h := defaults
	h.retry = time.Millisecond
	s, err := openStore(path, Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	must(t, os.Rename(path, path+".away"))
	put(s, create(t, s, "file", syscall.S_IFREG|0o644))
	if err := s.Sync(); err == nil {
		t.Error("durable without a database")
	}
	must(t, os.Rename(path+".away", path))
	for end := time.Now().Add(time.Minute); s.Sync() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not try again")
		}
	}
	must(t, s.Close())
	s = openTest(t, path)
	defer s.Close()
	put(s, lookup(t, s, "file"))
}
