package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

func modes(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func TestRawAndRestore(t *testing.T) {
	_, slave := openPTY(t)
	before := modes(t, slave)
	term := New(slave)
	for range 2 { // twice raw, then twice restored, is as once
		if err := term.Raw(); err != nil {
			t.Fatal(err)
		}
	}
	if m := modes(t, slave); m.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Errorf("raw mode has local flags %#x", m.Lflag)
	}
	term.Restore()
	term.Restore()
	if after := modes(t, slave); after != before {
		t.Errorf("the modes are %+v, were %+v", after, before)
	}
	(*Terminal)(nil).Restore()
}

func TestNewOfNoTerminal(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if New(f) != nil {
		t.Error("/dev/null was taken for a terminal")
	}
}

func TestCopyTo(t *testing.T) {
	_, caller := openPTY(t)
	guestMaster, guest := openPTY(t)
	if err := pty.Setsize(caller, &pty.Winsize{Rows: 7, Cols: 123}); err != nil {
		t.Fatal(err)
	}
	m := modes(t, caller)
	m.Cc[unix.VERASE] = 8
	m.Iflag &^= unix.IXON
	if err := unix.IoctlSetTermios(int(caller.Fd()), unix.TCSETS, &m); err != nil {
		t.Fatal(err)
	}
	if err := New(caller).CopyTo(guestMaster); err != nil {
		t.Fatal(err)
	}
	if got := modes(t, guest); got.Cc[unix.VERASE] != 8 || got.Iflag&unix.IXON != 0 {
		t.Errorf("the guest's modes are %+v, want %+v", got, m)
	}
	if rows, cols, err := pty.Getsize(guest); err != nil || rows != 7 || cols != 123 {
		t.Errorf("the guest's size is %d x %d, %v", rows, cols, err)
	}
}

// pipe returns a pipe in blocking mode, as a shell makes it.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func tempFile(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOpenLooksAtEachStream(t *testing.T) {
	_, tty := openPTY(t)
	r, _ := pipe(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	file := tempFile(t, nil)
	named := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(named, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(named, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()

	const term, same, relayed = "terminal", "as it is", "relayed"
	for _, test := range []struct {
		name        string
		interactive bool
		host        [3]*os.File
		want        [3]string
	}{
		{"all on a terminal", true, [3]*os.File{tty, tty, tty}, [3]string{term, term, term}},
		{"output to a file", true, [3]*os.File{tty, file, tty}, [3]string{term, relayed, term}},
		{"output to a pipe", true, [3]*os.File{tty, r, tty}, [3]string{term, same, term}},
		{"not interactive", false, [3]*os.File{tty, tty, tty}, [3]string{relayed, relayed, relayed}},
		{"input from a pipe", true, [3]*os.File{r, tty, tty}, [3]string{same, relayed, relayed}},
		{"a pipe with a name", true, [3]*os.File{fifo, fifo, r}, [3]string{relayed, relayed, same}},
		{"devices", true, [3]*os.File{null, full, file}, [3]string{same, relayed, relayed}},
	} {
		s, err := Open(test.interactive, test.host)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		for i, want := range test.want {
			got := relayed
			switch {
			case s.IsTerminal[i] && s.Guest[i] == nil:
				got = term
			case s.Guest[i] == test.host[i]:
				got = same
			}
			if got != want {
				t.Errorf("%s: stream %d is %s, want %s", test.name, i, got, want)
			}
			if got == relayed {
				if flags, err := unix.FcntlInt(s.Guest[i].Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
					t.Errorf("%s: stream %d does not block in the guest: %#x, %v", test.name, i, flags, err)
				}
			}
		}
		s.CloseGuest()
	}
}

// relayedStreams opens streams that are all relayed but standard error.
func relayedStreams(t *testing.T, in, out *os.File) (s *Streams, guest [3]*os.File) {
	t.Helper()
	_, w := pipe(t)
	s, err := Open(false, [3]*os.File{in, out, w})
	if err != nil {
		t.Fatal(err)
	}
	// The guest's own copies, as a child process has them.
	for i := range 2 {
		fd, err := unix.FcntlInt(s.Guest[i].Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		guest[i] = os.NewFile(uintptr(fd), "guest")
	}
	s.CloseGuest()
	s.Start(nil, nil)
	return s, guest
}

func TestRelayIsExact(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789\x00\xff\r\n"), 1<<18)
	in, out := tempFile(t, data), tempFile(t, nil)
	s, guest := relayedStreams(t, in, out)
	if _, err := io.Copy(guest[1], guest[0]); err != nil {
		t.Fatal(err)
	}
	guest[1].Close()
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(out.Name()); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came out of %d, %v", len(got), len(data), err)
	}
}

func TestDrainDoesNotWaitForAHolder(t *testing.T) {
	out := tempFile(t, nil)
	s, guest := relayedStreams(t, tempFile(t, nil), out)
	defer guest[1].Close() // still open, as by a process that got away
	if _, err := guest[1].WriteString("said"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Drain() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * lingerTime):
		t.Fatal("waited for a descriptor that stays open")
	}
	if got, _ := os.ReadFile(out.Name()); string(got) != "said" {
		t.Errorf("wrote %q", got)
	}
}

func TestWriteErrorReachesBothSides(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	s, guest := relayedStreams(t, tempFile(t, nil), full)
	defer guest[1].Close()
	deadline := time.Now().Add(time.Minute)
	for err == nil && time.Now().Before(deadline) {
		_, err = guest[1].Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.EPIPE) {
		t.Errorf("the guest's write: %v, want EPIPE", err)
	}
	if err := s.Drain(); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("art's write: %v, want ENOSPC", err)
	}
}

func TestHangupIsNoticed(t *testing.T) {
	master, slave := openPTY(t)
	_, w := pipe(t)
	s, err := Open(true, [3]*os.File{slave, w, w})
	if err != nil {
		t.Fatal(err)
	}
	guestMaster, _ := openPTY(t)
	gone := make(chan struct{})
	s.Start(guestMaster, func() { close(gone) })
	select {
	case <-gone:
		t.Fatal("the terminal is said to be gone while it is there")
	case <-time.After(50 * time.Millisecond):
	}
	master.Close()
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("nobody noticed that the terminal is gone")
	}
}

// A pipe without a name can be given to whoever is to open it anew; what has one on the host stays as it is.
func TestGive(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives anything away")
	}
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s := &Streams{Guest: [3]*os.File{null, w, fifo}}
	if err := s.Give(4711, 4712); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{0, 4711, 0} {
		var st unix.Stat_t
		if err := unix.Fstat(int(s.Guest[i].Fd()), &st); err != nil || st.Uid != want {
			t.Errorf("stream %d belongs to %d, %v, want %d", i, st.Uid, err, want)
		}
	}
}
