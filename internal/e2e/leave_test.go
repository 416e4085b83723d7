package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/e2e/screen"
	"github.com/riverlytech/art/internal/processes"
)

// leave presses the keys that leave the session on a screen, and returns its id.
func leave(t *testing.T, s *screen.Screen, keys string) string {
	t.Helper()
	s.Keys(keys)
	said := regexp.MustCompile(`art: left session ([a-z]+): art attach `)
	s.Until("the session was left", func() bool { return said.MatchString(s.Text()) })
	id := said.FindStringSubmatch(s.Text())[1]
	t.Cleanup(func() { exec.Command("art", "kill", "-s", "KILL", id).Run() })
	return id
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("art", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("art %q: %v: %s", args, err, out)
	}
	return string(out)
}

// TestLeave leaves a session that was begun in the foreground: it goes on, and is what one in the background is.
func TestLeave(t *testing.T) {
	for name, flags := range map[string]string{"overlay": " -d " + filepath.Join(t.TempDir(), "ws.db"), "direct": ""} {
		t.Run(name, func(t *testing.T) {
			ownSessions(t)
			s := screen.JobShell(t, "", nil)
			modes := filepath.Join(t.TempDir(), "modes")
			s.Enter("stty -g >" + modes)
			s.Enter("art -q -m " + faceWorkspace(t) + flags + " -- python3 face.py 1")
			s.Shows("begun 24x80")
			s.Keys("\x1cx") // the first of the keys alone
			s.Shows(`key b'\x1c' key b'x'`)
			s.Keys("\x1a")
			s.Shows("Stopped")
			s.Enter("fg")
			s.Shows("continued 24x80")
			s.Keys("y")
			s.Shows("key b'y'")
			program := s.Text()
			id := leave(t, s, "\x1cd")
			s.Prompt()
			if s.Other() {
				t.Error("the shell is on the program's screen")
			}
			if on, cursor := s.Modes(); slices.Contains(on, ansi.Mode(ansi.ModeMouseNormal)) || !cursor {
				t.Errorf("modes are on: %v; the cursor is there: %v", on, cursor)
			}
			s.Enter("echo so it ga''ve $?; stty -g | cmp - " + modes + " && echo as be''fore")
			s.Shows("\nso it gave 0\nas before")
			if list := output(t, "ps"); !strings.Contains(list, id) || !strings.Contains(list, "detached") {
				t.Errorf("art ps lists %s", list)
			}
			if log := output(t, "logs", id); log != "" {
				t.Errorf("what came before is in the log: %q", log)
			}
			s.Enter("art attach " + id)
			s.Until("the screen is as it was", func() bool { return s.Text() == program })
			s.Keys("z")
			s.Shows("key b'z'")
			s.Keys("q")
			s.Enter("echo so it ga''ve $?")
			s.Shows("\nso it gave 7")
			if log := output(t, "logs", id); !strings.Contains(log, "key b'z'") || !strings.Contains(log, "ended") {
				t.Errorf("the log is %q", log)
			}
		})
	}
}

// TestLeaveOtherKeys leaves by other keys; by none, no session can be left.
func TestLeaveOtherKeys(t *testing.T) {
	ownSessions(t)
	s, run := screen.JobShell(t, "", nil), "art -q -m "+faceWorkspace(t)+" --detach-keys="
	s.Enter(run + "ctrl-a,x -- python3 face.py 1")
	s.Shows("begun 24x80")
	s.Keys("\x1cd")
	s.Shows(`key b'\x1c' key b'd'`)
	leave(t, s, "\x01x")
	s.Enter(run + " -- python3 face.py 1")
	s.Shows("begun 24x80")
	s.Keys("\x1cd")
	s.Shows(`key b'\x1c' key b'd'`)
	s.Keys("q")
	s.Enter(run + "ctrl-long -- true")
	s.Shows("read the keys")
}

// TestLeaveWatched has others look at a session while it is in the foreground, and when its terminal is gone.
func TestLeaveWatched(t *testing.T) {
	ownSessions(t)
	s := screen.JobShell(t, "", nil)
	s.Enter("art -q -m " + faceWorkspace(t) + " -- python3 face.py 1")
	s.Shows("begun 24x80")
	var id string
	s.Until("the session is known", func() bool {
		id = regexp.MustCompile(`(?m)^[a-z]{4}\b`).FindString(output(t, "ps"))
		return id != ""
	})
	other := screen.JobShell(t, "", nil)
	other.Resize(20, 70)
	other.Enter("art attach " + id)
	other.Shows("begun 24x80")
	other.Shows("size 20x70")
	other.Keys("a")
	s.Shows("key b'a'")
	s.Keys("b")
	other.Shows("key b'b'")
	s.Keys("\x1cd") // both
	other.Keys("\x1cd")
	s.Shows("left session " + id)
	other.Shows("left session " + id)
	s.Enter("exec art attach " + id)
	s.Shows("size 24x80")
	s.Keys("q")
	if err := s.Cmd.Wait(); s.Cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("ended with %v", err)
	}
}

// TestLeaveSizes leaves sessions on terminals of strange sizes.
func TestLeaveSizes(t *testing.T) {
	ownSessions(t)
	for _, size := range [][2]int{{0, 0}, {10000, 10000}} {
		cmd := exec.Command("art", "-q", "-m", t.TempDir(), "--", "sh", "-c", "stty size; read line; echo got $line; read line; stty size; exit 4")
		master, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer master.Close()
		defer tty.Close()
		if err := pty.Setsize(master, &pty.Winsize{Rows: uint16(size[0]), Cols: uint16(size[1])}); err != nil {
			t.Fatal(err)
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		term := newTerminal(t, master)
		term.expect(strconv.Itoa(size[0]) + " " + strconv.Itoa(size[1]))
		term.enter("word")
		term.expect("got word")
		term.key('\x1c')
		term.key('d')
		term.expect("left session ([a-z]+)")
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", size, err)
		}
		id := regexp.MustCompile(`(?m)^[a-z]{4}\b`).FindString(output(t, "ps"))
		s := screen.Start(t, exec.Command("art", "attach", id))
		s.Shows("got word")
		s.Keys("end\r")
		s.Shows("24 80")
		if err := s.Cmd.Wait(); s.Cmd.ProcessState.ExitCode() != 4 {
			t.Errorf("%v: ended with %v", size, err)
		}
	}
}

// TestLeaveKilled kills the art that was typed: its session ends with it, unless it was left. One whose own process is killed
// leaves the terminal as it was.
func TestLeaveKilled(t *testing.T) {
	ownSessions(t)
	start := func(dir string) (*screen.Screen, []processes.Process) {
		s := screen.Start(t, exec.Command("art", "-q", "-m", dir, "--", "sh", "-c", "echo rea''dy; exec sleep 1000"))
		s.Shows("ready")
		return s, processes.Tree(s.Cmd.Process.Pid)
	}
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGHUP, unix.SIGTERM} {
		s, tree := start(t.TempDir())
		if err := s.Cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = s.Cmd.Wait()
		if !poll(10*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
			t.Errorf("%v leaves %v", sig, processes.Alive(tree))
		}
	}
	s, tree := start(t.TempDir())
	if err := unix.Kill(tree[1].PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Wait(); s.Cmd.ProcessState.ExitCode() != 125 {
		t.Errorf("ended with %v", err)
	}
	s.Shows("its process was killed")
	if !poll(10*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		t.Errorf("left are %v", processes.Alive(tree))
	}
	s, tree = start(t.TempDir())
	id := leave(t, s, "\x1cd")
	_ = s.Cmd.Wait()
	time.Sleep(100 * time.Millisecond)
	if alive := processes.Alive(tree); len(alive) != len(tree)-1 {
		t.Errorf("of %v there are left %v", tree, alive)
	}
	output(t, "kill", id)
	if !poll(10*time.Second, func() bool { return len(processes.Alive(tree)) == 0 }) {
		t.Errorf("left are %v", processes.Alive(tree))
	}
}
