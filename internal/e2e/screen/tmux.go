package screen

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
)

// Pane is a terminal of tmux's, which is an emulator of its own, with a shell on it.
type Pane struct {
	Patience time.Duration // how long what is expected may take; 20 s

	t       *testing.T
	server  string
	environ []string
}

// NewPane returns one of 24 x 80. An environment of nil is this process's.
func NewPane(t *testing.T, environ []string) *Pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is needed for this test: ", err, " (internal/packaging/deps test installs it)")
	}
	p := &Pane{20 * time.Second, t, fmt.Sprintf("art-test-%d", time.Now().UnixNano()), environ}
	p.Tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "env PS1='host; ' HISTFILE=/dev/null bash --norc --noprofile -i")
	t.Cleanup(func() { p.command("kill-server").Run() })
	p.Shows("host;")
	return p
}

func (p *Pane) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-L", p.server}, args...)...)
	cmd.Env = p.environ
	return cmd
}

// Tmux runs a command of tmux's, and returns what it says.
func (p *Pane) Tmux(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// Keys presses keys by the names that tmux has for them.
func (p *Pane) Keys(names ...string) {
	p.t.Helper()
	p.Tmux(append([]string{"send-keys"}, names...)...)
}

// Enter types a line.
func (p *Pane) Enter(line string) {
	p.t.Helper()
	p.Keys(line, "Enter")
}

// Resize gives the terminal another size.
func (p *Pane) Resize(rows, cols int) {
	p.t.Helper()
	p.Tmux("resize-window", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
}

// Text is what is on the screen.
func (p *Pane) Text() string {
	p.t.Helper()
	return p.Tmux("capture-pane", "-p")
}

// Cells is what is on the screen with its colours, and a line with where the cursor is and some modes. It is the same for the same
// cells, in whichever order they were written: tmux alone tells a space from what was erased.
func (p *Pane) Cells() string {
	p.t.Helper()
	var cols, rows int
	if _, err := fmt.Sscan(p.Tmux("display-message", "-p", "#{pane_width} #{pane_height}"), &cols, &rows); err != nil {
		p.t.Fatal(err)
	}
	emulator := vt.NewEmulator(cols, rows)
	lines := strings.TrimSuffix(p.Tmux("capture-pane", "-p", "-e"), "\n")
	if _, err := emulator.WriteString("\x1b[?7l" + strings.ReplaceAll(lines, "\n", "\r\n")); err != nil {
		p.t.Fatal(err)
	}
	state := p.Tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{alternate_on} #{cursor_flag} #{mouse_any_flag}")
	return emulator.Render() + "\n" + state
}

// Shows waits until text is on the screen.
func (p *Pane) Shows(text string) {
	p.t.Helper()
	p.Until("the screen shows "+text, func() bool { return strings.Contains(p.Text(), text) })
}

// Until waits until something is so.
func (p *Pane) Until(what string, is func() bool) {
	p.t.Helper()
	for end := time.Now().Add(p.Patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("not so: %s; the screen is\n%s", what, p.Text())
		}
	}
}
