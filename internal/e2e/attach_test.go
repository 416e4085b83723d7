package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/e2e/screen"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/version"
)

// background starts a session in the background, and returns its id.
func background(t *testing.T, args ...string) string {
	t.Helper()
	ownSessions(t)
	cmd := exec.Command("art", append([]string{"run", "-q", "-b"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	t.Cleanup(func() { exec.Command("art", "kill", "-s", "KILL", id).Run() })
	return id
}

// ownSessions has the sockets and logs of sessions be the test's own.
func ownSessions(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Cleanup(func() { // also of a test that has failed
		list, _ := exec.Command("art", "ps", "--json").Output()
		for line := range strings.Lines(string(list)) {
			var session struct{ ID string }
			if json.Unmarshal([]byte(line), &session) == nil && session.ID != "" {
				_ = exec.Command("art", "kill", "-s", "KILL", session.ID).Run()
			}
		}
	})
	t.Setenv("TERM", "xterm-256color")
}

// TestAttach joins a program with a face, from one terminal after the other and from two at once.
func TestAttach(t *testing.T) {
	id := background(t, "-m", faceWorkspace(t), "--", "python3", "face.py", "1")
	s := screen.JobShell(t, "", nil)
	for range 2 {
		s.Enter("art attach " + id)
		s.Shows(`art: ctrl-\ d leaves session ` + id)
		s.Shows("begun 24x80")
		s.Keys("x")
		s.Shows("key b'x'")
		s.Keys("\x1cd")
		s.Shows("left session " + id)
		s.Prompt()
		if s.Other() {
			t.Error("the shell is on the program's screen")
		}
	}
	other := screen.JobShell(t, "", nil)
	other.Resize(20, 70)
	other.Enter("art attach --view " + id)
	other.Shows("size 20x70")
	other.Keys("y") // read by nobody
	s.Enter("art attach")
	s.Prompt() // it is not the session of where the shell is
	s.Enter("art attach " + id)
	s.Shows("size 20x70")
	s.Keys("z")
	other.Shows("key b'z'")
	if strings.Contains(s.Text(), "key b'y'") {
		t.Error("who only looks can type")
	}
	other.Keys("\x1cd")
	s.Shows("size 24x80")
	s.Keys("q")
	s.Enter("echo so it ga''ve $?")
	s.Shows("\nso it gave 7")
}

// TestAttachKilled kills who is attached: the session does not notice.
func TestAttachKilled(t *testing.T) {
	id := background(t, "-m", t.TempDir(), "--", "sh", "-c", "echo rea''dy; read line; echo got $line; exit 4")
	s := screen.Start(t, exec.Command("art", "attach", id))
	s.Shows("ready")
	if err := s.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.Cmd.Wait()
	s = screen.Start(t, exec.Command("art", "attach", "--detach-keys", "", id))
	s.Shows("ready")
	s.Keys("word\r")
	s.Shows("got word")
	if err := s.Cmd.Wait(); s.Cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("ended with %v", err)
	}
}

// TestAttachGone ends a connection over which much was typed that the guest does not read: nobody looks any more.
func TestAttachGone(t *testing.T) {
	id := background(t, "-m", t.TempDir(), "--", "sh", "-c", "stty raw -echo; exec sleep 1000")
	told, err := exec.Command("art", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	was := version.Version
	version.Version = strings.TrimSpace(strings.TrimPrefix(string(told), "art "))
	defer func() { version.Version = was }()
	conn, err := session.Dial(session.Directories(os.Getenv), id, control.AskAttach, &control.AttachAsk{Cols: 80, Rows: 24}, nil)
	if err != nil {
		t.Fatal(err)
	}
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		for conn.Send(&control.AttachMessage{Kind: control.AttachData, Data: make([]byte, 16<<10)}) == nil {
		}
	}()
	is := func(state string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			out, err := exec.Command("art", "ps").Output()
			if err == nil && strings.Contains(string(out), state) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the session is not %s: %s, %v", state, out, err)
			}
		}
	}
	is("attached")
	time.Sleep(2 * time.Second) // the queues are full
	conn.Hangup()
	<-typed
	conn.Close()
	is("detached")
}
