package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/e2e/screen"
	"github.com/riverlytech/art/internal/processes"
)

// face is a program with a terminal interface, which does with the terminal what agents do. By a key it stops itself.
const face = `
import fcntl, os, select, signal, struct, sys, termios, tty
modes = termios.tcgetattr(0)
def put(text): os.write(int(sys.argv[1]), text.encode())
def size(): return "%dx%d" % struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))[:2]
def begin(word):
    tty.setraw(0)
    put("\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[H\x1b[2J%s %s" % (word, size()))
def end():
    put("\x1b[?2004l\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l")
    termios.tcsetattr(0, termios.TCSADRAIN, modes)
wake = os.pipe()
signal.signal(signal.SIGCONT, lambda *_: os.write(wake[1], b"c"))
signal.signal(signal.SIGWINCH, lambda *_: os.write(wake[1], b"w"))
begin("begun")
while True:
    ready = select.select([0, wake[0]], [], [])[0]
    if wake[0] in ready:
        if b"c" in os.read(wake[0], 100):
            begin("continued")
        else:
            put(" size " + size())
        continue
    key = os.read(0, 1)
    if key == b"\x1b":
        while not key.endswith(b"\x1b[201~"):
            key += os.read(0, 1)
        put(" pasted %r" % key[6:-6].decode())
    elif key == b"\x1a":
        end()
        os.kill(0, signal.SIGTSTP)
    elif key == b"s":
        end()
        os.kill(os.getpid(), signal.SIGSTOP)
    elif key == b"k":
        os.kill(os.getpid(), signal.SIGKILL)
    elif key == b"q":
        end()
        sys.exit(7)
    else:
        put(" key %r" % key)
`

// faceWorkspace returns a workspace that holds the program face.
func faceWorkspace(t *testing.T) string {
	t.Helper()
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "face.py"), []byte(face), 0o644); err != nil {
		t.Fatal(err)
	}
	return ws
}

// TestSuspend stops the command itself, and not a job of a shell in the session: art is then the stopped job of the
// caller's shell, and fg continues both.
func TestSuspend(t *testing.T) {
	for name, flags := range map[string]string{"overlay": " -d " + filepath.Join(t.TempDir(), "ws.db"), "direct": "", "traced": " --trace --trace-log /dev/null"} {
		t.Run(name, func(t *testing.T) {
			s, art := screen.JobShell(t, "", nil), "art -q -m "+faceWorkspace(t)+flags+" -- "
			s.Enter(art + "python3 face.py 1")
			s.Shows("begun 24x80")
			for _, key := range []string{"\x1a", "s"} {
				s.Keys(key)
				s.Shows("Stopped")
				s.Prompt()
				if s.Other() {
					t.Error("the shell is on the program's screen")
				}
				s.Enter("echo so the sh''ell reads lines")
				s.Shows("\nso the shell reads lines")
				s.Resize(30, 100)
				s.Enter("fg")
				s.Shows("continued 30x100")
				s.Keys("x")
				s.Shows("key b'x'")
			}
			s.Keys("q")
			s.Enter("echo so it ga''ve $?")
			s.Shows("\nso it gave 7")

			// The terminal's own key. The child is there before the word: one that is stopped between vfork and exec holds
			// up its parent, which then does not stop.
			s.Enter(art + "sh -c 'sleep 100 & echo sleeps; wait'")
			s.Shows("\nsleeps")
			s.Keys("\x1a")
			s.Shows("Stopped")
			s.Enter("fg")
			waitForeground(t, s.Cmd.Process.Pid, "art")
			s.Keys("\x03")
			s.Prompt()
		})
	}
}

// TestSuspendPipeline stops the whole job that art is one process of.
func TestSuspendPipeline(t *testing.T) {
	s := screen.JobShell(t, "", nil)
	s.Enter("art -q -m " + faceWorkspace(t) + " -- python3 face.py 2 | cat")
	s.Shows("begun 24x80")
	s.Keys("\x1a")
	s.Shows("Stopped")
	s.Enter("jobs; echo li''sted")
	s.Shows("\nlisted")
	if text := s.Text(); !strings.Contains(text, "Stopped") || strings.Contains(text, "Running") {
		t.Errorf("the shell says\n%s", text)
	}
	s.Enter("fg")
	s.Shows("continued 24x80")
	s.Keys("q")
	s.Prompt()
}

// TestPipelineLines shows lines that come to the terminal through another program: they begin at the left.
func TestPipelineLines(t *testing.T) {
	s, ws := screen.JobShell(t, "", nil), t.TempDir()
	s.Enter("art -q -m " + ws + " -- sh -c 'for i in one two; do echo $i; sleep 0.1; done; echo three >&2; sleep 0.2; echo four' | cat")
	s.Shows("\none\ntwo\nthree\nfour\n")
	s.Prompt()
	// On a terminal of its own the command decides about its lines.
	s.Enter("art -q -m " + ws + " -- sh -c 'stty -opost; echo one; echo two; stty opost'")
	s.Shows("\none\n   two\n")
}

// TestBackgroundJob has a shell begin jobs in the background, which read the terminal or change its modes there, continues one there
// that was stopped, and brings them to the foreground. A program in art does what it does alone.
func TestBackgroundJob(t *testing.T) {
	ownSessions(t)
	joined := background(t, "-m", t.TempDir(), "--", "sleep", "1000")
	art := "art -q -m " + t.TempDir()
	for name, run := range map[string]string{
		"alone": "", "direct": art + " -- ", "overlay": art + " -d " + filepath.Join(t.TempDir(), "ws.db") + " -- ",
		"traced": art + " --trace --trace-log /dev/null -- ", "kept": art + " --detach-keys= -- ", "joined": "art exec " + joined + " -- ",
	} {
		t.Run(name, func(t *testing.T) {
			s := screen.JobShell(t, "", nil)
			comm := "art"
			if run == "" {
				comm = "sh"
			}
			comesForward := func() {
				t.Helper()
				s.Enter("fg")
				waitForeground(t, s.Cmd.Process.Pid, comm)
			}
			stops := func() {
				t.Helper()
				s.Enter("until jobs -s | grep -q sh; do sleep 0.1; done; echo it sto''pped")
				s.Shows("\nit stopped")
			}
			s.Enter(run + "sh -c 'echo writes; stty size' &")
			s.Shows("writes\n")
			s.Shows("24 80\n")
			s.Keys("\r") // for another prompt

			s.Enter(run + "sh -c 'read line; echo got $line; exit 3' &")
			stops()
			s.Resize(30, 100)
			comesForward()
			s.Keys("a word\r")
			s.Shows("\ngot a word")
			s.Enter("echo ga''ve $?")
			s.Shows("\ngave 3")

			s.Enter(run + "sh -c 'stty -echo; stty size; stty echo' &")
			stops()
			s.Enter("fg")
			s.Shows("\n30 100")

			s.Enter(run + "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.3; done; read line; echo got $line'")
			s.Shows("\nline 2")
			s.Keys("\x1a")
			s.Shows("Stopped")
			s.Enter("bg")
			s.Shows("line 9")
			s.Keys("\r")
			stops()
			comesForward()
			s.Keys("\x1a")
			s.Shows("Stopped")
			comesForward()
			s.Keys("a word\r")
			s.Shows("\ngot a word")
			s.Prompt()
		})
	}
}

// TestForegroundAlone has a shell begin in the background what only shows something: it is stopped until it comes to the foreground,
// and has drawn nothing before.
func TestForegroundAlone(t *testing.T) {
	id := background(t, "-m", t.TempDir(), "--", "sh", "-c", "while read -r line; do echo got $line; done")
	s := screen.JobShell(t, "", nil)
	for command, use := range map[string]func(){
		"art attach " + id: func() {
			s.Keys("a word\r")
			s.Shows("\ngot a word")
			s.Keys("\x1cd")
		},
		"art ps --watch": func() {
			s.Until("the list is shown", s.Other)
			s.Keys("q")
		},
	} {
		s.Enter(command + " &")
		s.Enter("until jobs -s | grep -q art; do sleep 0.1; done; echo it sto''pped")
		s.Shows("\nit stopped")
		if s.Other() {
			t.Errorf("%s has drawn in the background:\n%s", command, s.Text())
		}
		s.Enter("fg")
		waitForeground(t, s.Cmd.Process.Pid, "art")
		use()
		s.Prompt()
	}
}

// TestNobodyContinues stops a command where there is no shell that could continue art: then it goes on.
func TestNobodyContinues(t *testing.T) {
	s := screen.Start(t, exec.Command("art", "-q", "-m", faceWorkspace(t), "--", "python3", "face.py", "1"))
	s.Shows("begun 24x80")
	s.Keys("\x1a")
	s.Shows("continued 24x80")
	s.Keys("q")
	if err := s.Cmd.Wait(); s.Cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("ended with %v", err)
	}
}

// TestStopFromElsewhere stops art by the signal and not by the key, on a terminal and without one of its own.
func TestStopFromElsewhere(t *testing.T) {
	s, art := screen.JobShell(t, "", nil), "art -q -m "+faceWorkspace(t)
	for _, flag := range []string{"", " -i=false"} {
		s.Enter(art + flag + " -- sh -c 'sleep 100 & echo begun; wait'")
		s.Shows("\nbegun")
		signal(t, s, "art", unix.SIGTSTP)
		s.Shows("Stopped")
		s.Enter("fg")
		waitForeground(t, s.Cmd.Process.Pid, "art")
		if flag == "" {
			s.Keys("\x03")
		} else {
			// Without a terminal of the guest's own, the caller's has the key.
			s.Keys("\x1a")
			s.Shows("Stopped")
			s.Enter("fg")
			waitForeground(t, s.Cmd.Process.Pid, "art")
			s.Keys("\x03")
		}
	}
	s.Prompt()
}

// TestScreenIsRestored ends a program with a face before it can restore the screen.
func TestScreenIsRestored(t *testing.T) {
	for _, test := range []struct {
		name, limits string
		end          func(t *testing.T, s *screen.Screen)
	}{
		{"by a limit", `{"limits": {"time": "1s"}}`, func(*testing.T, *screen.Screen) {}},
		{"by a signal", `{}`, func(_ *testing.T, s *screen.Screen) { s.Keys("k") }},
		{"by a signal to art", `{}`, func(t *testing.T, s *screen.Screen) { signal(t, s, "art", unix.SIGTERM) }},
		{"with its file system", `{}`, func(t *testing.T, s *screen.Screen) { signal(t, s, "art-fuse", unix.SIGKILL) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			ws := faceWorkspace(t)
			config := filepath.Join(ws, ".art", "config")
			if err := os.MkdirAll(config, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(config, "sandbox.json"), []byte(test.limits), 0o644); err != nil {
				t.Fatal(err)
			}
			s := screen.JobShell(t, "", nil)
			s.Enter("bind 'set enable-bracketed-paste off'")
			s.Enter("art -q -m " + ws + " -d " + filepath.Join(t.TempDir(), "ws.db") + " -- python3 face.py 1")
			s.Shows("begun 24x80")
			test.end(t, s)
			s.Prompt()
			if on, cursor := s.Modes(); !cursor || slices.ContainsFunc(on, func(mode ansi.Mode) bool { return mode != ansi.ModeTextCursorEnable }) {
				t.Errorf("left on: %v; the cursor is visible: %v", on, cursor)
			}
			if s.Other() || !strings.Contains(s.Text(), "art -q") {
				t.Errorf("the screen is\n%s", s.Text())
			}
		})
	}
}

// signal sends sig to the program of that name that the shell has started.
func signal(t *testing.T, s *screen.Screen, comm string, sig unix.Signal) {
	t.Helper()
	tree := processes.Tree(s.Cmd.Process.Pid)
	i := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == comm })
	if i < 0 {
		t.Fatalf("there is no %s: %v", comm, tree)
	}
	if err := unix.Kill(tree[i].PID, sig); err != nil {
		t.Fatal(err)
	}
}
