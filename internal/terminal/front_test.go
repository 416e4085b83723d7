package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// kept keeps what is written.
type kept struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

// until waits until text was written.
func (k *kept) until(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(k.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not in %q", text, k.String())
		}
	}
}

// A terminal that is left shows all from before, and nothing from after; the log has it the other way round.
func TestLeave(t *testing.T) {
	screen, tty := openPair(t)
	master, guest := openPair(t)
	if err := pty.Setsize(screen, &pty.Winsize{Rows: 30, Cols: 90, X: 900, Y: 600}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(true, [3]*os.File{tty, tty, tty})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	keys, _ := ParseKeys(DefaultKeys)
	pressed := make(chan chan bool)
	if err := s.Attend(keys, func() bool {
		answer := make(chan bool)
		pressed <- answer
		return <-answer
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetUp(master); err != nil {
		t.Fatal(err)
	}
	seen, log := &kept{}, &kept{}
	go io.Copy(seen, screen)
	s.Start(master, func() { t.Error("the terminal is taken for gone") })
	const lines = 20000
	for i := range lines {
		fmt.Fprintf(guest, "\x1b[?2004hline %d\r\n", i)
	}
	seen.until(t, fmt.Sprintf("line %d\r", lines-1))
	typed := make([]byte, 10)
	for _, stays := range []bool{true, false} {
		screen.WriteString("\x1cd")
		answer := <-pressed
		if !stays {
			s.Detach(log)
		}
		answer <- !stays
		if stays {
			screen.WriteString("x\n")
			if n, err := guest.Read(typed); err != nil || string(typed[:n]) != "x\n" {
				t.Errorf("typed was %q, %v", typed[:n], err)
			}
		}
	}
	if after, _ := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS); *after != *before {
		t.Errorf("the terminal is not as it was: %+v", after)
	}
	seen.until(t, "\x1b[?2004l")
	fmt.Fprint(guest, "afterwards")
	log.until(t, "afterwards")
	if text := log.String(); strings.Contains(text, "line") {
		t.Errorf("the log has what came before: %d bytes", len(text))
	}
	if strings.Contains(seen.String(), "afterwards") {
		t.Error("the terminal shows what came afterwards")
	}
	if size, err := pty.GetsizeFull(guest); err != nil || *size != (pty.Winsize{Rows: 30, Cols: 90, X: 900, Y: 600}) {
		t.Errorf("the guest's terminal has %+v, %v", size, err)
	}
	v := s.Hub.View(Size{90, 30})
	if picture := string(v.Next()); !strings.Contains(picture, fmt.Sprint("line ", lines-1)) || !strings.Contains(picture, "afterwards") {
		t.Errorf("the picture is %q", picture)
	}
	guest.Close()
	if err := s.Drain(); err != nil {
		t.Error(err)
	}
}

// What is put is written in few pieces and in order, also after a flush, and a flush does not wait for more.
func TestQueueGathers(t *testing.T) {
	var pieces []int
	var got bytes.Buffer
	q := newQueue(writerFunc(func(p []byte) (int, error) {
		pieces = append(pieces, len(p))
		return got.Write(p)
	}))
	var want bytes.Buffer
	put := func(n int) {
		p := bytes.Repeat([]byte{byte(want.Len())}, n)
		want.Write(p)
		q.put(p)
	}
	for range 3 {
		pieces = nil
		const puts = 2000
		for range puts {
			put(4096)
		}
		q.flush()
		if n := len(pieces); n > puts/10 {
			t.Errorf("%d pieces", n)
		}
	}
	begin := time.Now()
	for range 100 {
		put(1)
		q.flush()
	}
	if took := time.Since(begin); took > 100*gather {
		t.Errorf("100 flushes have taken %v", took)
	}
	put(10)
	q.end()
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes of %d, or others", got.Len(), want.Len())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// openPair opens a terminal whose master can be closed while it is read.
func openPair(t *testing.T) (master, tty *os.File) {
	t.Helper()
	opened, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	fd, err := unix.FcntlInt(opened.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "terminal")
	t.Cleanup(func() {
		master.Close()
		tty.Close()
	})
	return master, tty
}
