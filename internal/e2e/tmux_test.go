package e2e

import (
	"fmt"
	"os/exec"
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
