package replica

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/control"
)

// busyMost bounds how long what is done on this host alone counts as going on.
const busyMost = 2 * time.Minute

// takesTried is how often a file is begun with before what the place takes of it counts for nothing: one that is full takes the beginning again and
// again.
const takesTried = 3

// underWay is for how long what a client sends counts after it was read: it reads some megabytes ahead, which take their time on a slow line. sentLeast is
// how much that has to be, in bytes a second; less is what this process tells art.
const underWay, sentLeast = 5 * time.Minute, 16 << 10

// taken tells whether the copy goes forward: it counts what the place takes, and what is done here meanwhile.
type taken struct {
	mu    sync.Mutex
	count uint64    // GUARDED_BY(mu)
	file  ltx.TXID  // that is being copied. GUARDED_BY(mu)
	tried int       // how often that was begun with. GUARDED_BY(mu)
	read  time.Time // when a part of it was read. GUARDED_BY(mu)
	sent  uint64    // see sending. GUARDED_BY(mu)
}

func (t *taken) now() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// goesOn says that something has gone forward.
func (t *taken) goesOn() { t.add(1) }

func (t *taken) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count += uint64(max(n, 0))
}

// take counts bytes that a client has read to send them.
func (t *taken) take(n int) {
	t.add(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = time.Now()
}

// sending is told each second how many bytes this process has written to whatever it has open.
func (t *taken) sending(bytes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if bytes >= t.sent+sentLeast && time.Since(t.read) < underWay && t.tried <= takesTried {
		t.count++
	}
	t.sent = bytes
}

// written is how many bytes this process has written (proc_pid_io(5), wchar); 0: that is not known.
func (j *Job) written() (bytes uint64) {
	var text [512]byte
	n, _ := j.io.ReadAt(text[:], 0)
	for line := range strings.Lines(string(text[:n])) {
		if number, ok := strings.CutPrefix(line, "wchar: "); ok {
			bytes, _ = strconv.ParseUint(strings.TrimSpace(number), 10, 64)
		}
	}
	return bytes
}

// attempt returns what counts the bytes of a file. Those of higher levels are merged from what is there already.
func (t *taken) attempt(level int, file ltx.TXID) (count func(bytes int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if level > 0 {
		return func(int) {}
	}
	if file != t.file {
		t.file, t.tried = file, 0
	}
	if t.tried++; t.tried > takesTried {
		return func(int) {}
	}
	return t.take
}

// say tells art how far the copy is.
func (j *Job) say(s control.ReplicaState) {
	j.mu.Lock()
	j.said = s
	j.mu.Unlock()
	s.Done = j.taken.now()
	j.tell(s)
}

// busy does what waits for this host alone, and tells art meanwhile that it goes on.
func (j *Job) busy(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for end := time.Now().Add(busyMost); ; {
		select {
		case err := <-done:
			return err
		case <-every.C:
		}
		if time.Now().Before(end) {
			j.taken.goesOn()
		}
		j.mu.Lock()
		s := j.said
		j.mu.Unlock()
		j.say(s)
	}
}
