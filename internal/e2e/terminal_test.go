package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/processes"
)

// terminal is a person at a terminal: types, and waits for what appears.
type terminal struct {
	t      *testing.T
	master *os.File
	output chan string
	screen string // what appeared since the last expect
}

// TestTerminal uses a shell in an overlay session as one would a local one.
func TestTerminal(t *testing.T) {
	ws, db := t.TempDir(), filepath.Join(t.TempDir(), "ws.db")
	cmd := exec.Command("art", "-m", ws, "-d", db, "--", "bash", "--norc")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 33, Cols: 101}); err != nil {
		t.Fatal(err)
	}
	before := termios(t, slave)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()

	term := newTerminal(t, master)
	// The quotes keep the echo of what is typed apart from what is printed.
	term.enter(`PS1='; '; echo rea''dy`)
	term.expect(`ready`)
	term.enter(`stty size`)
	term.expect(`33 101`)

	if err := pty.Setsize(master, &pty.Winsize{Rows: 44, Cols: 111}); err != nil {
		t.Fatal(err)
	}
	term.enter(`until stty size | grep '^44'; do sleep 0.05; done`)
	term.expect(`44 111`)

	term.enter(`sleep 100`)
	waitForeground(t, cmd.Process.Pid, "sleep")
	term.key('\x03')
	term.enter(`echo interrupt''ed $?`)
	term.expect(`interrupted 130`)

	term.enter(`sleep 100`)
	waitForeground(t, cmd.Process.Pid, "sleep")
	term.key('\x1a')
	term.enter(`jobs`)
	term.expect(`Stopped +sleep`)
	term.enter(`fg`)
	waitForeground(t, cmd.Process.Pid, "sleep")
	term.key('\x03')
	term.enter(`echo end''ed $?`)
	term.expect(`ended 130`)

	term.enter(`exit 6`)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 6 {
		t.Errorf("the session ended with %v, want exit code 6", err)
	}
	if after := termios(t, slave); after != before {
		t.Errorf("the terminal is not as it was: %+v, was %+v", after, before)
	}
}

// TestHangup closes the terminal: the session must end by itself.
func TestHangup(t *testing.T) {
	cmd := exec.Command("art", "-m", t.TempDir(), "-d", filepath.Join(t.TempDir(), "ws.db"), "--", "sh", "-c", "echo rea''dy; sleep 100")
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	// A read that is waiting would keep the terminal open: so none is.
	screen := ""
	for buf := make([]byte, 4096); !strings.Contains(screen, "ready"); {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatalf("the session ended: %v; the screen:\n%s", err, screen)
		}
		screen += string(buf[:n])
	}
	tree := processes.Tree(cmd.Process.Pid)
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatalf("still there five seconds after the terminal was closed: %v", processes.Alive(tree))
	}
	if !poll(2*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		t.Errorf("left behind: %v", processes.Alive(tree))
	}
}

func newTerminal(t *testing.T, master *os.File) *terminal {
	term := &terminal{t: t, master: master, output: make(chan string)}
	go func() {
		defer close(term.output)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			term.output <- string(buf[:n])
		}
	}()
	return term
}

func (term *terminal) enter(line string) {
	term.t.Helper()
	if _, err := term.master.WriteString(line + "\r"); err != nil {
		term.t.Fatal(err)
	}
}

// waitForeground waits until a program below process pid is the foreground job of its terminal.
func waitForeground(t *testing.T, pid int, comm string) {
	t.Helper()
	is := func() bool {
		return slices.ContainsFunc(processes.Tree(pid), func(p processes.Process) bool {
			return p.Comm == comm && p.Foreground()
		})
	}
	if !poll(time.Minute, is) {
		t.Fatalf("%s is no foreground job: %v", comm, processes.Tree(pid))
	}
}

// key presses a control key.
func (term *terminal) key(key byte) {
	term.t.Helper()
	if _, err := term.master.Write([]byte{key}); err != nil {
		term.t.Fatal(err)
	}
}

// expect waits until the pattern has appeared.
func (term *terminal) expect(pattern string) {
	term.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(time.Minute)
	for {
		if at := re.FindStringIndex(term.screen); at != nil {
			term.screen = term.screen[at[1]:]
			return
		}
		select {
		case text, ok := <-term.output:
			if !ok {
				term.t.Fatalf("the session ended before %q appeared; the screen:\n%s", pattern, term.screen)
			}
			term.screen += strings.ReplaceAll(text, "\r", "")
		case <-deadline:
			term.t.Fatalf("%q did not appear; the screen:\n%s", pattern, term.screen)
		}
	}
}

func termios(t *testing.T, tty *os.File) unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *state
}
