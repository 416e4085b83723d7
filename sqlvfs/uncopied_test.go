package sqlvfs

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A log that the database has no room to take is no reason to drop history: what is in it is committed, and durable.
func TestLogThatCannotBeCopied(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	d, name := newDisk(t, honest)
	h := defaults
	h.query, h.linger, h.retry = "vfs="+name, time.Microsecond, time.Millisecond
	h.logLimit, h.logMost = 4_000_000, 1<<40
	free := int64(1 << 40) // only this goroutine and the writer that it waits for ask
	h.room = func(string) room { return room{free, 1 << 50} }
	s, err := openStore(path, Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	for i := range 8 {
		must(t, s.WriteAt(f, bytes.Repeat([]byte{byte(i)}, 10), 0, nil, Now()))
		_, err := s.Checkpoint(AtRest, "")
		must(t, err)
	}
	// The log's file becomes long enough for all that follows, and the log begins anew in it.
	for i := range 12 {
		must(t, s.WriteAt(f, bytes.Repeat([]byte{byte(i)}, 500_000), 0, nil, Now()))
		must(t, s.Sync())
	}
	for i := 0; s.writer.logPages*s.writer.pageSize > 300_000 && i < 100; i++ {
		must(t, s.WriteAt(f, bytes.Repeat([]byte{byte(i)}, 100_000), 0, nil, Now()))
		must(t, s.Sync())
	}
	g := create(t, s, "g", syscall.S_IFREG|0o600)
	must(t, s.WriteAt(g, bytes.Repeat([]byte("x"), 600_000), 0, nil, Now()))
	must(t, s.Sync())
	free = 0
	d.mu.Lock()
	d.grows = func(int64) error { return &os.PathError{Op: "pwrite", Path: path, Err: syscall.ENOSPC} }
	d.mu.Unlock()
	must(t, s.WriteAt(f, []byte("y"), 0, nil, Now()))
	must(t, s.Sync())
	list, err := s.Checkpoints()
	if must(t, err); len(list) != 8 || s.Dropped() != 0 {
		t.Errorf("%d checkpoints of 8 are left, %d are said to be dropped", len(list), s.Dropped())
	}
	d.mu.Lock()
	d.grows = nil
	d.mu.Unlock()
	free = 1 << 40
	put(s, f)
	put(s, g)
	must(t, s.Close())
}

// Checkpoints that a batch has cost are told where it is committed, and only making it durable fails: no later attempt drops them again.
func TestDroppedWithoutBeingDurable(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	first := openFull(t, path, 1<<40, true, Options{})
	big := create(t, first, "big", syscall.S_IFREG|0o600)
	must(t, first.WriteAt(big, random(20<<20), 0, nil, Now()))
	put(first, big)
	_, err := first.Checkpoint(AtRest, "")
	must(t, err)
	must(t, first.Close())
	info, err := os.Stat(path)
	must(t, err)
	s, d := openFullDisk(t, path, info.Size()+2<<20, true, Options{})
	d.failWith(func(k eventKind, _ int) error {
		if k == synced {
			return syscall.EIO
		}
		return nil
	})
	remove(t, s, "big")
	if err := s.Sync(); Errno(err) != syscall.EIO {
		t.Errorf("the disk cannot sync: %v", err)
	}
	list, err := s.Checkpoints()
	if must(t, err); int(s.Dropped()) != 1-len(list) {
		t.Errorf("%d checkpoints of one are left, %d are said to be dropped", len(list), s.Dropped())
	}
	d.failWith(nil)
	must(t, recovers(s))
	if list, err = s.Checkpoints(); err != nil || len(list) > 0 || s.Dropped() != 1 {
		t.Errorf("%d checkpoints are left, %d are said to be dropped, %v", len(list), s.Dropped(), err)
	}
	must(t, s.Close())
}
