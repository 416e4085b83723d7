package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pane is a terminal of tmux's with a shell on it.
type pane struct {
	t      *testing.T
	server string
}

func newPane(t *testing.T) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is needed for this test: ", err, " (internal/packaging/deps test installs it)")
	}
	p := &pane{t, fmt.Sprintf("art-test-%d", time.Now().UnixNano())}
	p.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "env PS1='host; ' HISTFILE=/dev/null bash --norc --noprofile -i")
	t.Cleanup(func() { exec.Command("tmux", "-L", p.server, "kill-server").Run() })
	p.shows("host;")
	return p
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", p.server}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *pane) shows(text string) {
	p.t.Helper()
	if !poll(20*time.Second, func() bool { return strings.Contains(p.tmux("capture-pane", "-p"), text) }) {
		p.t.Fatalf("%q is not on the screen:\n%s", text, p.tmux("capture-pane", "-p"))
	}
}

// TestTmux uses a program with a face in a terminal multiplexer, which has an emulator of its own.
func TestTmux(t *testing.T) {
	p, ws := newPane(t), faceWorkspace(t)
	p.tmux("send-keys", "art -q -m "+ws+" -d "+ws+".db -- python3 face.py 1", "Enter")
	p.shows("begun 24x80")
	p.tmux("send-keys", "C-z")
	p.shows("Stopped")
	p.tmux("send-keys", "echo the sh''ell reads", "Enter")
	p.shows("\nthe shell reads\n")
	p.tmux("resize-window", "-x", "100", "-y", "30")
	p.tmux("send-keys", "fg", "Enter")
	p.shows("continued 30x100")
	p.tmux("resize-window", "-x", "90", "-y", "20")
	p.shows("size 20x90")
	p.tmux("set-buffer", "two\nlines")
	p.tmux("paste-buffer", "-p")
	p.shows(`pasted 'two\rlines'`)
	p.tmux("send-keys", "k")
	p.shows("host;")
	if modes := p.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"); modes != "0 1 0\n" {
		t.Errorf("alternate screen, cursor, mouse: %q", modes)
	}
}

// styled writes what a screen can hold: colours, attributes, wide characters, a line that wraps, and the cursor in between.
const styled = `printf '\033[H\033[2J\033[1;31mred\033[m \033[4;38;5;208morange\033[m \033[36;105mnamed\033[38;5;6;48;5;13mnumbered\033[m \033[48;2;1;2;3mdark\033[m 日本 e\314\201\r\n'
printf '%100s|\r\n' long; printf 'last\033[5;10Hhere'; exec cat`

// TestTmuxLeave leaves a session in one window, and joins it in another: each cell is as it was, then as large as that window.
func TestTmuxLeave(t *testing.T) {
	for name, command := range map[string]string{"screen": "python3 face.py 1", "lines": "sh styled"} {
		t.Run(name, func(t *testing.T) {
			ownSessions(t)
			p, ws := newPane(t), faceWorkspace(t)
			if err := os.WriteFile(filepath.Join(ws, "styled"), []byte(styled), 0o644); err != nil {
				t.Fatal(err)
			}
			last := map[string]string{"screen": "begun 24x80", "lines": "here"}[name]
			p.tmux("send-keys", "art -q -m "+ws+" -- "+command, "Enter")
			p.shows(last)
			cells := func(p *pane) string {
				return p.tmux("capture-pane", "-p", "-e") + p.tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{alternate_on} #{cursor_flag} #{mouse_any_flag}")
			}
			before := cells(p)
			p.tmux("send-keys", `C-\`, "d")
			p.shows("left session")
			p.shows("host;")

			other := newPane(t)
			other.tmux("send-keys", "cd "+ws, "Enter")
			other.tmux("send-keys", "art attach", "Enter")
			if !poll(20*time.Second, func() bool { return cells(other) == before }) {
				t.Errorf("the screen is\n%s\nand was\n%s", cells(other), before)
			}
			other.tmux("send-keys", `C-\`, "d")
			other.shows("left session")
			other.tmux("resize-window", "-x", "100", "-y", "30")
			other.tmux("send-keys", "clear; art attach", "Enter")
			if name == "lines" {
				other.shows("here")
				other.tmux("send-keys", "C-c")
				other.shows("host;")
				return
			}
			other.shows("size 30x100")
			other.tmux("send-keys", "C-c")
			other.shows(`key b'\x03'`)
			other.tmux("send-keys", "C-z") // nobody could continue it
			other.shows("continued 30x100")
			other.tmux("resize-window", "-x", "90", "-y", "20")
			other.shows("size 20x90")
			other.tmux("send-keys", "q")
			other.shows("host;")
		})
	}
}
