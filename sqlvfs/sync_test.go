package sqlvfs

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// logSyncs is how often a log was synced.
func (d *disk) logSyncs() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.kind == synced && e.file == d.names["a.db-wal"] {
			n++
		}
	}
	return n
}

// What is durable is not synced again: programs sync a file, and then the directory that it is in.
func TestSyncOfWhatIsDurable(t *testing.T) {
	s, d := failing(t)
	before := d.logSyncs()
	must(t, s.Sync()) // what a session has left that was killed
	if n := d.logSyncs() - before; n != 1 {
		t.Errorf("the first sync takes %d of the log", n)
	}
	for range 3 {
		f := create(t, s, "f"+time.Now().String(), syscall.S_IFREG|0o600)
		before := d.logSyncs()
		for range 3 {
			must(t, s.Sync())
		}
		if n := d.logSyncs() - before; n != 1 {
			t.Errorf("three syncs take %d of the log", n)
		}
		put(s, f)
	}
	must(t, s.Close())
}

// A sync waits for the log, and not for a checkpoint that goes on beside it.
func TestSyncBesideACheckpoint(t *testing.T) {
	d, name := newDisk(t, honest)
	h := defaults
	h.query, h.logLimit = "vfs="+name, 1<<20
	s, err := openStore(filepath.Join(memoryDir(t), "a.db"), Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	slow := make(chan struct{})
	d.mu.Lock()
	d.slow = slow
	d.mu.Unlock()
	f := create(t, s, "f", syscall.S_IFREG|0o600)
	done := make(chan error, 1)
	go func() {
		var err error
		for i := range int64(8) {
			if err == nil {
				err = s.WriteAt(f, make([]byte, 1<<20), i<<20, nil, Now())
			}
			if err == nil {
				err = s.Sync()
			}
		}
		done <- err
	}()
	select {
	case err = <-done:
		close(slow)
	case <-time.After(30 * time.Second):
		t.Error("it waits")
		close(slow)
		err = <-done
	}
	must(t, err)
	put(s, f)
	must(t, s.Close())
	must(t, checkClean(s.Path()))
}
