package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/processes"
)

// patience is how long what must happen may take, on the busiest machine.
const patience = time.Minute

// screen is a terminal on which a test types and reads.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	tty    *os.File // kept open to look at the modes after art has ended

	mu   sync.Mutex
	text []byte // GUARDED_BY(mu)
	read int    // how much of text has been expected already
}

// onScreen starts art with args as the foreground of a terminal of 30 x 90.
func onScreen(t *testing.T, args ...string) *screen {
	t.Helper()
	cmd, _ := art(t, append([]string{"-q"}, args...)...)
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	master = nonBlocking(t, master)
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 30, Cols: 90}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(cmd.Env, "TERM=dumb")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := &screen{t: t, cmd: cmd, master: master, tty: tty}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		master.Close()
		tty.Close()
	})
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.text = append(s.text, buf[:n]...)
			s.mu.Unlock()
		}
	}()
	return s
}

// nonBlocking returns f such that Close ends a Read.
func nonBlocking(t *testing.T, f *os.File) *os.File {
	t.Helper()
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

func (s *screen) write(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// expect waits until text appears after what was expected before.
func (s *screen) expect(text string) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		i := bytes.Index(s.text[s.read:], []byte(text))
		if i >= 0 {
			s.read += i + len(text)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("%q did not appear in %q", text, s.text[s.read:])
}

// foreground waits until a program in the session is the foreground job of its terminal.
func (s *screen) foreground(comm string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		tree := processes.Tree(s.cmd.Process.Pid)
		if slices.ContainsFunc(tree, func(p processes.Process) bool { return p.Comm == comm && p.Foreground() }) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s is no foreground job: %v", comm, tree)
		}
	}
}

func (s *screen) modes() unix.Termios {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *m
}

// wait waits for art to end and returns its exit code.
func (s *screen) wait() int {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		return code(s.t, err)
	case <-time.After(patience):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("art does not end; the screen shows %q", s.text)
		return -1
	}
}

// shell is a job-controlling shell that says when it is ready for input.
func shell(t *testing.T, flags ...string) *screen {
	t.Helper()
	s := onScreen(t, append(flags, "--", "bash", "--norc", "--noediting", "-i")...)
	s.expect("$ ")
	s.write("PS1='>'; stty -echo\n")
	s.expect("\r\n>")
	return s
}

func TestShellOnATerminal(t *testing.T) {
	s := shell(t)
	before := s.modes()
	if before.Lflag&unix.ICANON != 0 {
		t.Error("the caller's terminal is not raw")
	}
	s.write("tty; stty size\n")
	s.expect("/dev/pts/0\r\n30 90\r\n>")

	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 41, Cols: 121}); err != nil {
		t.Fatal(err)
	}
	s.write("until [ \"$(stty size)\" = '41 121' ]; do sleep 0.01; done; echo resized\n")
	s.expect("resized\r\n>")

	s.write("sleep 1000\n")
	s.foreground("sleep")
	s.write("\x03")
	s.expect(">")
	s.write("echo interrupted $?\n")
	s.expect("interrupted 130\r\n>")

	// The child is there before the word: one that is stopped between vfork and
	// exec holds up its parent, which then does not stop.
	s.write("sh -c 'sleep 1000 & echo begun; wait'\n")
	s.expect("begun")
	s.write("\x1a")
	s.expect("Stopped")
	s.expect(">")
	s.write("jobs\n")
	s.expect("Stopped")
	s.expect(">")
	s.write("fg\n")
	s.expect("sleep 1000")
	s.foreground("sh")
	s.write("\x03")
	s.expect(">")

	s.write("exit 9\n")
	if got := s.wait(); got != 9 {
		t.Errorf("exit code %d", got)
	}
	if after := s.modes(); after.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != unix.ICANON|unix.ECHO|unix.ISIG {
		t.Errorf("the terminal's local flags are %#x after the session", after.Lflag)
	}
}

func TestTerminalIsRestored(t *testing.T) {
	for name, end := range map[string]func(s *screen){
		"exit": func(s *screen) { s.write("exit\n") },
		"SIGTERM to art": func(s *screen) {
			s.write("trap - TERM; exec sleep 1000\n")
			s.foreground("sleep")
			s.cmd.Process.Signal(syscall.SIGTERM)
		},
		"SIGHUP to art":      func(s *screen) { s.cmd.Process.Signal(syscall.SIGHUP) },
		"the sandbox killed": func(s *screen) { killChild(s.t, s.cmd.Process.Pid) },
	} {
		s := shell(t)
		end(s)
		s.wait()
		if m := s.modes(); m.Lflag&unix.ICANON == 0 || m.Lflag&unix.ECHO == 0 {
			t.Errorf("%s: the terminal's local flags are %#x", name, m.Lflag)
		}
	}
}

// killChild kills the child of pid, which is bubblewrap.
func killChild(t *testing.T, pid int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		children, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + task.Name() + "/children")
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

func TestClosedTerminalEndsTheSession(t *testing.T) {
	s := shell(t)
	s.write("trap '' HUP; echo deaf\n") // so that only force ends it
	s.expect("deaf\r\n>")
	s.tty.Close()
	s.master.Close()
	s.wait()
}

func TestOnlyTerminalsBecomeTheTerminal(t *testing.T) {
	s := onScreen(t, "--", "sh", "-c", "for i in 0 1 2; do if [ -t $i ]; then echo $i tty; else echo $i no; fi; done >&2; exit 3")
	s.expect("0 tty\r\n1 tty\r\n2 tty\r\n")
	if got := s.wait(); got != 3 {
		t.Errorf("exit code %d", got)
	}
	s = onScreen(t, "-i=false", "--", "sh", "-c", "for i in 0 1 2; do if [ -t $i ]; then echo $i tty; else echo $i no; fi; done")
	s.expect("0 no\r\n1 no\r\n2 no\r\n")
	if got := s.wait(); got != 0 {
		t.Errorf("exit code %d", got)
	}
}

// What a session has written does nothing to the terminal that art logs prints it on, and elsewhere is as it was written.
func TestLogsOnATerminal(t *testing.T) {
	state := t.TempDir()
	logs := filepath.Join(state, "art", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	const written = "\x1b[31mred\x1b[c\x1b[6n\x1b]52;c;ZXZpbA==\a\x1b[?1049h\nthe\x1b[2J end\n"
	if err := os.WriteFile(filepath.Join(logs, "bada.log"), []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func() *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", "logs", "bada")
		cmd.Env = append(os.Environ(), runAsArt+"=1", "XDG_STATE_HOME="+state)
		return cmd
	}
	if out, err := command().Output(); err != nil || string(out) != written {
		t.Errorf("a pipe gets %q, %v", out, err)
	}
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := command()
	cmd.Stdout = tty
	err = cmd.Run()
	tty.Close()
	out, _ := io.ReadAll(master) // ends with EIO (pty(7))
	if want := "\x1b[31mred\x1b[m\r\nthe end\r\n"; err != nil || string(out) != want {
		t.Errorf("a terminal gets %q, %v, want %q", out, err, want)
	}
}
