package writer

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// guestSocket has a session hear its guest.
func (s *session) guestSocket() (path string) {
	s.Helper()
	path = filepath.Join(s.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	must(s, err)
	f, err := l.(*net.UnixListener).File()
	must(s, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	must(s, l.Close())
	go s.writer.ServeGuest(f)
	return path
}

// ask sends a line, and descriptors, and returns the answer.
func ask(t testing.TB, path, line string, fds ...int) string {
	t.Helper()
	conn, err := net.Dial("unix", path)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = conn.(*net.UnixConn).WriteMsgUnix([]byte(line), rights, nil)
	must(t, err)
	answer := make([]byte, 1000)
	n, err := conn.Read(answer)
	must(t, err)
	return string(answer[:n])
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}

func (s *session) checkpoints() []sqlvfs.Checkpoint {
	s.Helper()
	list, err := s.store.Checkpoints()
	must(s, err)
	return list
}

func TestGuestAsks(t *testing.T) {
	s := newSession(t)
	path := s.guestSocket()
	for line, want := range map[string]string{
		"checkpoint 7\n": "error: " + sqlvfs.ErrLabel.Error() + "\n", "rewind 1\n": "error: this is not \"checkpoint LABEL\" in one line\n",
		"checkpoint a\nrewind 1\n": "error: this is not \"checkpoint LABEL\" in one line\n", "checkpoint " + strings.Repeat("a", 1<<16) + "\n": "error: a label is up to 200 bytes of text in one line\n",
	} {
		if got := ask(t, path, line); got != want {
			t.Errorf("%.40q: %q", line, got)
		}
	}
	if got := s.checkpoints(); len(got) != 0 {
		t.Fatalf("there are %+v", got)
	}
	for line, want := range map[string]string{"checkpoint turn 1\n": "checkpoint 1\n"} {
		if got := ask(t, path, line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
	list := s.checkpoints()
	if len(list) != 1 || list[0].Kind != sqlvfs.ByGuest || list[0].Label != "turn 1" {
		t.Errorf("there are %+v", list)
	}
	if got := ask(t, path, "checkpoint turn 1\n"); got != "error: "+sqlvfs.ErrLabelTaken.Error()+"\n" {
		t.Errorf("a label for the second time: %q", got)
	}
	s.end()
	s.writer.End()
	if got := ask(t, path, "checkpoint late\n"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("after the end: %q", got)
	}
}

// A hostile guest gets no more than some checkpoints, and the writer keeps nothing of what it sends.
func TestGuestFloods(t *testing.T) {
	s := newSession(t)
	path := s.guestSocket()
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	ask(t, path, "checkpoint first\n") // which opens the database
	before := descriptors(t)

	// Connections that say nothing, half a line, and more than one; with descriptors.
	var open []net.Conn
	for i := range 12 {
		conn, err := net.Dial("unix", path)
		must(t, err)
		open = append(open, conn)
		if i%3 > 0 {
			_, _, err = conn.(*net.UnixConn).WriteMsgUnix(bytes.Repeat([]byte("checkpoint "), i*1000), unix.UnixRights(int(null.Fd()), int(null.Fd())), nil)
			must(t, err)
		}
	}
	began := time.Now()
	if got := ask(t, path, "checkpoint in between\n"); got != "checkpoint 2\n" {
		t.Errorf("while others say nothing: %q", got)
	}
	if took := time.Since(began); took > 6*guestWithin {
		t.Errorf("while others say nothing, it took %v", took)
	}
	for _, conn := range open {
		conn.Close()
	}
	busy, made := 0, 0
	for i := range 40 {
		switch got := ask(t, path, fmt.Sprintf("checkpoint flood %d\n", i), int(null.Fd())); {
		case got == "error: busy: one a second, and ten at once\n":
			busy++
		case strings.HasPrefix(got, "checkpoint "):
			made++
		default:
			t.Errorf("a flood: %q", got)
		}
	}
	if most := guestBurst + int(time.Since(began)/guestEvery); made > most || busy == 0 {
		t.Errorf("of a flood %d were made, of %d, and %d refused", made, most, busy)
	}
	// A user's goes through meanwhile.
	c := s.client()
	if _, err := c.Checkpoint("flood 1"); err != nil {
		t.Errorf("the user's checkpoint: %v", err)
	}
	must(t, c.Close())
	for until := time.Now().Add(2 * guestWithin); descriptors(t) > before && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are left of %d", after, before)
	}
	s.end()
}

func TestBucket(t *testing.T) {
	b, now := &bucket{}, time.Now()
	took := func(n int) (some int) {
		for range n {
			if b.take(now) {
				some++
			}
		}
		return some
	}
	if n := took(100); n != guestBurst {
		t.Errorf("%d at once", n)
	}
	now = now.Add(3 * guestEvery)
	if n := took(100); n != 3 {
		t.Errorf("%d in three times as long", n)
	}
	now = now.Add(time.Hour)
	if n := took(100); n != guestBurst {
		t.Errorf("%d at once, later", n)
	}
}
