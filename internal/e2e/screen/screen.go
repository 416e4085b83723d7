// Package screen has a test sit before a terminal emulator: what it sees is what is on the screen, and not what was written.
package screen

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Screen is a terminal emulator with a command on it.
type Screen struct {
	Cmd      *exec.Cmd
	Patience time.Duration // how long what is expected may take; 20 s

	t        *testing.T
	master   *os.File
	tty      *os.File
	emulator *vt.Emulator // behind see
	lines    int          // the number of JobShell's next command

	seen   sync.Mutex // held for the emulator, whose own lock does not cover what it returns
	mu     sync.Mutex
	on     map[ansi.Mode]bool // GUARDED_BY(mu); the modes that are on
	cursor bool               // GUARDED_BY(mu); whether it is visible
}

// Modes returns the modes of the screen that are on, and whether the cursor is visible.
func (s *Screen) Modes() (on []ansi.Mode, cursor bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.on)), s.cursor
}

func (s *Screen) follow() {
	with := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	s.on, s.cursor = map[ansi.Mode]bool{}, true
	s.emulator.SetCallbacks(vt.Callbacks{
		EnableMode:       func(mode ansi.Mode) { with(func() { s.on[mode] = true }) },
		DisableMode:      func(mode ansi.Mode) { with(func() { delete(s.on, mode) }) },
		CursorVisibility: func(visible bool) { with(func() { s.cursor = visible }) },
	})
}

// Start starts the command on a terminal of 24 x 80.
func Start(t *testing.T, cmd *exec.Cmd) *Screen {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &Screen{Cmd: cmd, Patience: 20 * time.Second, t: t, master: master, tty: tty, emulator: vt.NewEmulator(80, 24)}
	s.follow()
	s.Resize(24, 80)
	s.Cmd.Env = append(cmd.Environ(), "TERM=xterm-256color", "HISTFILE=/dev/null")
	s.Cmd.Stdin, s.Cmd.Stdout, s.Cmd.Stderr = tty, tty, tty
	s.Cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	// A shell ignores these for what it runs in the background, such as this test, and programs keep what is ignored
	// (POSIX, Shell Command Language, 2.12). What is caught is as at first for another program.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGINT, unix.SIGQUIT)
	err = s.Cmd.Start()
	signal.Stop(caught)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Cmd.Process.Kill()
		s.Cmd.Wait()
		tty.Close()
		master.Close()
		s.emulator.InputPipe().(io.Closer).Close() // ends its answers
	})
	go io.Copy(s, master)
	go io.Copy(master, s.emulator) // its answers to programs that ask the terminal
	return s
}

// JobShell is a shell with job control, on a screen. An environment of nil is this process's.
func JobShell(t *testing.T, dir string, environ []string) *Screen {
	t.Helper()
	cmd := exec.Command("bash", "--norc", "--noprofile", "-i")
	cmd.Dir, cmd.Env = dir, environ
	s := Start(t, cmd)
	s.Keys("PS1='host \\#; '\r")
	s.lines = 2
	return s
}

func (s *Screen) Keys(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Screen) Resize(rows, cols int) {
	s.t.Helper()
	s.see(func() { s.emulator.Resize(cols, rows) })
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		s.t.Fatal(err)
	}
}

// Write shows what programs write.
func (s *Screen) Write(p []byte) (n int, err error) {
	s.see(func() { n, err = s.emulator.Write(p) })
	return n, err
}

func (s *Screen) see(f func()) {
	s.seen.Lock()
	defer s.seen.Unlock()
	f()
}

// Other says whether the screen is not the one that shells have.
func (s *Screen) Other() (is bool) {
	s.see(func() { is = s.emulator.IsAltScreen() })
	return is
}

// Text is what is on the screen, lines without spaces at their ends.
func (s *Screen) Text() string {
	s.seen.Lock()
	defer s.seen.Unlock()
	var text strings.Builder
	for y := range s.emulator.Height() {
		var line strings.Builder
		for x := range s.emulator.Width() {
			if cell := s.emulator.CellAt(x, y); cell != nil && cell.Content != "" {
				line.WriteString(cell.Content)
			} else {
				line.WriteByte(' ')
			}
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

// Shows waits until text, in which spaces before a new line do not count, is on the screen.
func (s *Screen) Shows(text string) {
	s.t.Helper()
	s.Until("the screen shows "+text, func() bool { return strings.Contains(s.Text(), strings.TrimRight(text, " ")) })
}

func (s *Screen) Until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(s.Patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not so: %s; the screen is\n%s", what, s.Text())
		}
	}
}

// Enter types a line at the prompt of JobShell, on a screen that is cleared first.
func (s *Screen) Enter(line string) {
	s.t.Helper()
	s.Prompt()
	s.Keys("\x0c" + line + "\r")
	s.lines++
}

// Prompt waits until JobShell waits for a line.
func (s *Screen) Prompt() {
	s.t.Helper()
	prompt := fmt.Sprintf("host %d;", s.lines)
	s.Until("a prompt", func() bool { return strings.HasSuffix(strings.TrimRight(s.Text(), "\n"), prompt) })
}
