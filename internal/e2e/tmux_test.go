package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/e2e/screen"
)

// TestTmux uses a program with a face in a terminal multiplexer, which has an emulator of its own.
func TestTmux(t *testing.T) {
	p, ws := screen.NewPane(t, nil), faceWorkspace(t)
	p.Enter("art -q -m " + ws + " -d " + ws + ".db -- python3 face.py 1")
	p.Shows("begun 24x80")
	p.Keys("C-z")
	p.Shows("Stopped")
	p.Enter("echo the sh''ell reads")
	p.Shows("\nthe shell reads\n")
	p.Resize(30, 100)
	p.Enter("fg")
	p.Shows("continued 30x100")
	p.Resize(20, 90)
	p.Shows("size 20x90")
	p.Tmux("set-buffer", "two\nlines")
	p.Tmux("paste-buffer", "-p")
	p.Shows(`pasted 'two\rlines'`)
	p.Keys("k")
	p.Shows("host;")
	if modes := p.Tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"); modes != "0 1 0\n" {
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
			p, ws := screen.NewPane(t, nil), faceWorkspace(t)
			if err := os.WriteFile(filepath.Join(ws, "styled"), []byte(styled), 0o644); err != nil {
				t.Fatal(err)
			}
			last := map[string]string{"screen": "begun 24x80", "lines": "here"}[name]
			p.Enter("art -q -m " + ws + " -- " + command)
			p.Shows(last)
			before := p.Cells()
			p.Keys(`C-\`, "d")
			p.Shows("left session")
			p.Shows("host;")

			other := screen.NewPane(t, nil)
			other.Enter("cd " + ws)
			other.Enter("art attach")
			other.Until("the screen is as it was:\n"+before, func() bool { return other.Cells() == before })
			other.Keys(`C-\`, "d")
			other.Shows("left session")
			other.Resize(30, 100)
			other.Enter("clear")
			other.Until("the screen is clear", func() bool { return !strings.Contains(other.Text(), "left session") })
			other.Enter("art attach")
			if name == "lines" {
				other.Shows("here")
				other.Keys("C-c")
				other.Shows("host;")
				return
			}
			other.Shows("size 30x100")
			other.Keys("C-c")
			other.Shows(`key b'\x03'`)
			other.Keys("C-z") // nobody could continue it
			other.Shows("continued 30x100")
			other.Resize(20, 90)
			other.Shows("size 20x90")
			other.Keys("q")
			other.Shows("host;")
		})
	}
}
