package events

import (
	"bufio"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type warnings struct {
	mu   sync.Mutex
	list []string // GUARDED_BY(mu)
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) has(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.list, "\n"), part)
}

type event struct {
	Header
	Count    uint64
	ExitCode int `json:"exit_code"`
}

func parse(t *testing.T, text string) event {
	t.Helper()
	var l event
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return l
}

func TestAnEventIsALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var w warnings
	s := New(f, w.add)
	s.Tell(SessionBegan, Session{PID: 7, Command: []string{"sh", "-c", "echo \x1b[31m\n"}})
	s.Tell(SessionEnded, End{Code: 3})
	if lost, _ := s.End(); lost != 0 {
		t.Errorf("lost %d", lost)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 2 || strings.Contains(string(text), "\x1b") {
		t.Fatalf("%q", text)
	}
	first, last := parse(t, lines[0]), parse(t, lines[1])
	if first.Kind != SessionBegan || first.Number != 1 || first.Version != Version || first.Session == "" || last.Session != first.Session || last.Number != 2 || last.ExitCode != 3 {
		t.Errorf("%+v, %+v", first, last)
	}
	if _, err := time.Parse(time.RFC3339Nano, first.Time); err != nil {
		t.Error(err)
	}
}

// A reader that reads nothing holds nobody up; the user hears of it, and the reader, when it goes on, how many it has missed.
func TestNobodyWaitsForTheReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var told warnings
	s := New(w, told.add)
	const n = 100_000
	for range n {
		s.Tell(Denied, Denial{Call: "keyctl", Program: strings.Repeat("x", 64)})
	}
	for !told.has("reads nothing") {
		time.Sleep(10 * time.Millisecond)
	}
	read := make(chan event, n)
	go func() {
		defer close(read)
		for in := bufio.NewScanner(r); in.Scan(); {
			read <- parse(t, in.Text())
		}
	}()
	for range 5000 { // there is room again
		<-read
	}
	for s.room() {
		time.Sleep(time.Millisecond)
	}
	s.Tell(SessionEnded, End{})
	lost, why := s.End()
	var all, missing, times uint64
	var before event
	for l := range read {
		if l.Kind == Lost {
			missing += l.Count
			times++
			if l.Number != before.Number+l.Count+1 {
				t.Errorf("%d lost between %d and %d", l.Count, before.Number, l.Number)
			}
		}
		before = l
		all++
	}
	if lost == 0 || missing != lost || all+5000+lost != n+1+times || why != ErrSlowReader || before.Kind != SessionEnded {
		t.Errorf("read %d, lost %d, told of %d; the last is %v", all+5000, lost, missing, before.Kind)
	}
}

// A reader that is slow still hears of the end, and how many it has missed.
func TestASlowReaderHearsOfTheEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := New(w, func(string) {})
	for range 100_000 {
		s.Tell(Denied, Denial{Call: "keyctl", Program: strings.Repeat("x", 64)})
	}
	s.Tell(SessionEnded, End{Code: 3})
	read := make(chan event, 100_000)
	go func() {
		defer close(read)
		in := bufio.NewReader(r)
		for {
			text, err := in.ReadString('\n')
			if err != nil {
				return
			}
			read <- parse(t, text)
			time.Sleep(2 * time.Millisecond)
		}
	}()
	lost, why := s.End()
	var before event
	missing := uint64(0)
	for l := range read {
		if l.Kind == Lost {
			missing += l.Count
		}
		if gap := l.Number - before.Number - 1; gap != 0 && (l.Kind != Lost || gap != l.Count) {
			t.Errorf("%d between %d and %d, which says %s of %d", gap, before.Number, l.Number, l.Kind, l.Count)
		}
		before = l
	}
	if before.Kind != SessionEnded || before.ExitCode != 3 || lost == 0 || missing < lost || why != ErrSlowReader {
		t.Errorf("the last is %+v; lost %d, told of %d: %v", before, lost, missing, why)
	}
}

// A line that a file had no room for, or that was torn when who wrote it was killed, is not continued by the next one.
func TestATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(path, []byte("{}\n{\"v\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	finishTorn(f)
	finishTorn(f)
	if _, err := f.WriteString("{}\n{\"to"); err != nil {
		t.Fatal(err)
	}
	if n := cutTorn(f, []byte("{}\n{\"to")); n != 3 {
		t.Errorf("%d bytes are whole", n)
	}
	if n := cutTorn(f, []byte("other")); n != 0 {
		t.Errorf("%d bytes are whole", n)
	}
	f.Close()
	s := New(open(), func(string) {})
	s.Tell(SessionEnded, End{})
	if lost, why := s.End(); lost != 0 || why != nil {
		t.Errorf("lost %d: %v", lost, why)
	}
	text, err := os.ReadFile(path)
	if want := "{}\n{\"v\":\n{}\n{\"v\":1,"; err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%q, %v", text, err)
	}
}

// A file without room takes whole lines alone, and what is lost is not its reader's.
func TestAFullFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1000, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	s := New(f, func(string) {})
	for range 20 {
		s.Tell(Denied, Denial{Call: "keyctl"})
	}
	lost, why := s.End()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	lines := uint64(strings.Count(string(text), "\n"))
	if err != nil || lines == 0 || !strings.HasSuffix(string(text), "\n") || lost != 20-lines || why == nil || why.Error() != "file too large" {
		t.Errorf("lost %d: %v; %d lines: %q, %v", lost, why, lines, text, err)
	}
}

// room waits for what waits to be written.
func (s *Stream) room() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size > 0 && s.writing > 0
}

func TestAReaderThatHasGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	var told warnings
	s := New(w, told.add)
	s.Tell(SessionEnded, End{})
	for !told.has("no more events: broken pipe") {
		time.Sleep(time.Millisecond)
	}
	s.Tell(SessionEnded, End{})
	if lost, _ := s.End(); lost != 2 {
		t.Errorf("lost %d", lost)
	}
}

func TestTheEndDoesNotWaitLong(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := New(w, func(string) {})
	for range 10_000 {
		s.Tell(SessionEnded, End{Why: strings.Repeat("x", 100)})
	}
	if lost, _ := s.End(); lost == 0 {
		t.Error("nothing was lost")
	}
}

func TestNobodyIsTold(t *testing.T) {
	var s *Stream
	s.Tell(SessionEnded, End{})
	if lost, _ := s.End(); lost != 0 {
		t.Errorf("lost %d", lost)
	}
}

func TestOpenTargets(t *testing.T) {
	dir := t.TempDir()
	never := func(string) (*os.File, error) { t.Error("opened as a file"); return nil, os.ErrInvalid }
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd, err := unix.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(strconv.Itoa(fd), never)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for target, want := range map[string]string{
		strconv.Itoa(int(r.Fd())): "reading alone", "9999": "bad file descriptor", "unix:" + filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := Open(target, never); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", target, err)
		}
	}
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	path := filepath.Join(dir, "s")
	if err := unix.Bind(listener, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(listener, 1); err != nil {
		t.Fatal(err)
	}
	f, err = Open("unix:"+path, never)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if File("unix:x") != "" || File("3") != "" || File("./3") != "./3" {
		t.Error("what is a file")
	}
}
