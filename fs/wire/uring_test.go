package wire

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
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
		m.conn.rings.payload = 4096 // less than the longest request
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
	for _, fd := range dir.conn.rings.descriptors(t) {
		if err := unix.Dup2(int(null.Fd()), fd); err != nil {
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

// Threads give the memory back that long requests have used.
func TestAsRootMemoryOfLongRequests(t *testing.T) {
	dir := mountAs(t, Rings, func(_ *tinyMount, open func()) { open() })
	content := make([]byte, 1<<20)
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			f, err := os.OpenFile(filepath.Join(dir.path, "file"), os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for range 8 {
				if _, err := f.WriteAt(content, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	used := resident(t)
	if used < len(content) {
		t.Errorf("%d bytes are in use for requests", used)
	}
	r := dir.conn.rings
	r.mu.Lock()
	most := r.live * (kept + 2*os.Getpagesize())
	r.mu.Unlock()
	for begin := time.Now(); used > most; used = resident(t) {
		if time.Since(begin) > 10*keepFor {
			t.Fatalf("%d bytes are in use still, more than %d", used, most)
		}
		time.Sleep(keepFor / 10)
	}
	if err := os.WriteFile(filepath.Join(dir.path, "file"), content, 0o644); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir.path, "file")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// resident is how much memory for requests is in use, in bytes: of mappings without a reservation of swap space, which is "nr"
// among the flags (proc_pid_smaps(5)), those with the length of such memory, or of several side by side. The race detector has
// some, too.
func resident(t *testing.T) (bytes int) {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	size, rss := 0, 0
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n << 10
	}
	for line := range strings.Lines(string(maps)) {
		switch fields := strings.Fields(line); {
		case fields[0] == "Size:":
			size = number(fields[1])
		case fields[0] == "Rss:":
			rss = number(fields[1])
		case fields[0] == "VmFlags:" && slices.Contains(fields, "nr") && size%(os.Getpagesize()+maxPayload) == 0:
			bytes += rss
		}
	}
	return bytes
}

// descriptors are those of all threads, once each has its own.
func (r *rings) descriptors(t *testing.T) (list []int) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		list = nil
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range open {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == "anon_inode:[io_uring]" {
				fd, err := strconv.Atoi(e.Name())
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, fd)
			}
		}
		r.mu.Lock()
		threads := r.live
		r.mu.Unlock()
		if len(list) == threads {
			return list
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d threads have %d rings", threads, len(list))
		}
	}
}

// A thread that cannot be had may be tried again later, as often as it takes.
func TestThreadsThatAreMissing(t *testing.T) {
	r := &rings{begin: make(chan struct{}), failed: make(chan error, 1), ended: make(chan struct{}), ahead: 4, more: 6, live: 1}
	close(r.begin)
	p := &processor{number: 1 << 16, pin: true} // beyond what sched_setaffinity can name
	p.threads.Store(4)
	for range 20 {
		r.notBefore.Store(0)
		r.grow(p)
		for threads := p.threads.Load(); threads != 4; threads = p.threads.Load() {
			runtime.Gosched()
		}
		r.mu.Lock()
		more := r.more
		r.mu.Unlock()
		if more != 6 {
			t.Fatalf("%d more threads may be started, want 6", more)
		}
	}
}
