package e2e

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
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

// screen is a person in front of a terminal emulator: what they see is what is on the screen, and not what was written.
type screen struct {
	t        *testing.T
	master   *os.File
	tty      *os.File
	emulator *vt.Emulator // behind see
	cmd      *exec.Cmd
	lines    int // the number of jobShell's next command

	seen   sync.Mutex // held for the emulator, whose own lock does not cover what it returns
	mu     sync.Mutex
	on     map[ansi.Mode]bool // GUARDED_BY(mu); the modes that are on
	cursor bool               // GUARDED_BY(mu); whether it is visible
}

// modes returns the modes of the screen that are on, and whether the cursor is visible.
func (s *screen) modes() (on []ansi.Mode, cursor bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.on)), s.cursor
}

func (s *screen) follow() {
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

// onScreen starts the command on a terminal of 24 x 80.
func onScreen(t *testing.T, name string, args ...string) *screen {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, master: master, tty: tty, emulator: vt.NewEmulator(80, 24), cmd: exec.Command(name, args...)}
	s.follow()
	s.resize(24, 80)
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HISTFILE=/dev/null")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		tty.Close()
		master.Close()
		s.emulator.InputPipe().(io.Closer).Close() // ends its answers
	})
	go io.Copy(s, master)
	go io.Copy(master, s.emulator) // its answers to programs that ask the terminal
	return s
}

// jobShell is a shell with job control, on a screen.
func jobShell(t *testing.T) *screen {
	t.Helper()
	s := onScreen(t, "bash", "--norc", "--noprofile", "-i")
	s.keys("PS1='host \\#; '\r")
	s.lines = 2
	return s
}

func (s *screen) keys(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) resize(rows, cols int) {
	s.t.Helper()
	s.see(func() { s.emulator.Resize(cols, rows) })
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)}); err != nil {
		s.t.Fatal(err)
	}
}

// Write shows what programs write.
func (s *screen) Write(p []byte) (n int, err error) {
	s.see(func() { n, err = s.emulator.Write(p) })
	return n, err
}

func (s *screen) see(f func()) {
	s.seen.Lock()
	defer s.seen.Unlock()
	f()
}

// other says whether the screen is not the one that shells have.
func (s *screen) other() (is bool) {
	s.see(func() { is = s.emulator.IsAltScreen() })
	return is
}

// text is what is on the screen, lines without spaces at their ends.
func (s *screen) text() string {
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

// shows waits until text, in which spaces before a new line do not count, is on the screen.
func (s *screen) shows(text string) {
	s.t.Helper()
	s.until("the screen shows "+text, func() bool { return strings.Contains(s.text(), strings.TrimRight(text, " ")) })
}

func (s *screen) until(what string, is func() bool) {
	s.t.Helper()
	if !poll(20*time.Second, is) {
		s.t.Fatalf("not so: %s; the screen is\n%s", what, s.text())
	}
}

// enter types a line at the prompt of jobShell, on a screen that is cleared first.
func (s *screen) enter(line string) {
	s.t.Helper()
	s.prompt()
	s.keys("\x0c" + line + "\r")
	s.lines++
}

// prompt waits until jobShell waits for a line.
func (s *screen) prompt() {
	s.t.Helper()
	prompt := fmt.Sprintf("host %d;", s.lines)
	s.until("a prompt", func() bool { return strings.HasSuffix(strings.TrimRight(s.text(), "\n"), prompt) })
}
