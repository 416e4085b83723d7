package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that may have no more descriptors gets no rings, and the kernel asks by /dev/fuse from the beginning.
func TestAsRootNoRoomForRings(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	dir := mountAs(t, Any, func(_ *tinyMount, open func()) {
		low := was
		low.Cur = 3 // the standard streams
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
			t.Fatal(err)
		}
		defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
		open()
	})
	if err := os.WriteFile(filepath.Join(dir.path, "file"), []byte("by the device"), 0o644); err != nil {
		t.Error(err)
	}
	if err := <-dir.served; !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("rings: %v", err)
	}
}

// Where the kernel refuses what a queue gives it, it goes on by /dev/fuse.
func TestAsRootEntriesRefused(t *testing.T) {
	dir := mountAs(t, Rings, func(m *tinyMount, open func()) {
		open()
		for _, q := range m.conn.rings.queues {
			for i := range q.entries {
				q.entries[i].iov[1].Len = 4096 // less than the longest request
			}
		}
	})
	select {
	case err := <-dir.served:
		if err == nil || errors.Is(err, ErrLost) || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("rings: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("entries were accepted")
	}
	if err := os.WriteFile(filepath.Join(dir.path, "file"), []byte("by the device"), 0o644); err != nil {
		t.Error(err)
	}
}

// A queue that fails while the kernel uses it ends the service with an error, and who waits for an answer gets one once
// the descriptors are closed, as they are at the end of the process.
func TestAsRootQueueFails(t *testing.T) {
	dir := mountAs(t, Rings, func(_ *tinyMount, open func()) { open() })
	file := filepath.Join(dir.path, "file")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dir.conn.rings.mu.Lock()
	queues := dir.conn.rings.queues
	dir.conn.rings.mu.Unlock()
	for _, q := range queues {
		if err := unix.Dup2(int(null.Fd()), q.ring.fd); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := os.Stat(file)
		if err == nil {
			_, err = os.Stat(file)
		}
		ended <- err
	}()
	select {
	case err := <-dir.served:
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "io_uring_enter") {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("rings are served on")
	}
	unix.Unmount(dir.path, unix.MNT_FORCE|unix.MNT_DETACH) // aborts the connection
	select {
	case err := <-ended:
		if err == nil {
			t.Error("two requests were answered")
		}
	case <-time.After(10 * time.Second):
		t.Error("who asked waits for ever")
	}
}
