package terminal

import (
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

func TestUndo(t *testing.T) {
	for _, test := range []struct{ name, output, undo string }{
		{"nothing", "a line\r\n\x1b[31mred\x1b[0m\x1b[2J\x1b[3;4H", ""},
		{"what is turned off again", "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l", ""},
		{"an agent's face", "\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h", "\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l"},
		{"the keyboard", "\x1b[>1u\x1b[>5u\x1b[<u\x1b[>4;2m\x1b[?1h\x1b=", "\x1b[?1l\x1b[<1u\x1b[>4;0m\x1b>"},
		{"the keyboard, set", "\x1b[=5;1u", "\x1b[=0;1u"},
		{"the keyboard, set and unset", "\x1b[=5u\x1b[=1;2u\x1b[=0;1u", ""},
		{"the keyboard, set and pushed", "\x1b[=1;2u\x1b[>5u\x1b[=7;1u", "\x1b[<1u\x1b[=0;1u"},
		{"the keyboard, emptied", "\x1b[=1;1u\x1b[>5u\x1b[<99u", ""},
		{"the keyboard of each screen", "\x1b[=1;1u\x1b[?1049h\x1b[>5u", "\x1b[<1u\x1b[?1049l\x1b[=0;1u"},
		{"colours, the cursor's shape, lines, margins", "\x1b[1;31m\x1b[4 q\x1b(0\x1b[2;9r", "\x1b(B\x1b[m\x1b[0 q\x1b7\x1b[r\x1b8"},
		{"no wrapping", "\x1b[?7l", "\x1b[?7h"},
		{"a reset of everything", "\x1b[?1049h\x1b[31m\x1b[>1u\x1bc", ""},
		{"a soft reset", "\x1b[?25l\x1b[?2004h\x1b[31m\x1b[!p", "\x1b[?2004l"},
		{"a title that looks like more", "\x1b]0;\x1b\\\x1b]2;[?1049h\a[?1049h", ""},
		{"a title that is cut off", "\x1b[?25l\x1b]0;title", "\x18\x1b[?25h"},
		{"a sequence that is cut off", "\x1b[?25", "\x18"},
		{"a cancelled one", "\x1b[?25\x18l", ""},
		{"one within another", "\x1b[?2\x1b[?25l", "\x1b[?25h"},
		{"unknown modes", "\x1b[?4711h\x1b[?99999999999999999999h\x1b[?h\x1b[?;h", ""},
		{"all at once", "\x1b[?" + strings.Repeat("1000;", 29) + "1049h", "\x1b[?1000l\x1b[?1049l"},
	} {
		whole, pieces := &screenModes{}, &screenModes{}
		whole.Write([]byte(test.output))
		for i := range len(test.output) {
			pieces.Write([]byte(test.output[i : i+1]))
		}
		if got := whole.undo(); got != test.undo {
			t.Errorf("%s: %q, want %q", test.name, got, test.undo)
		}
		if got := pieces.undo(); got != test.undo {
			t.Errorf("%s, byte by byte: %q, want %q", test.name, got, test.undo)
		}
	}
}

// A screen on which anything was written is as at first after that.
func FuzzUndo(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b]0;x"))
	f.Add([]byte("\x1b[?1047;47h\x1bP1$r\x1b\\\x1b[>1u\x1b[<99u\x1b[!p"))
	f.Fuzz(func(t *testing.T, output []byte) {
		m := &screenModes{}
		m.Write(output)
		undo := m.undo()
		if len(undo) > 1000 {
			t.Errorf("%d bytes undo it", len(undo))
		}
		m.Write([]byte(undo))
		if more := m.undo(); more != "" {
			t.Errorf("%q is left after %q", more, undo)
		}
	})
}

// The emulator agrees: what programs turn on, undo turns off.
func TestUndoOnAScreen(t *testing.T) {
	on := map[ansi.Mode]bool{}
	visible := true
	screen := vt.NewEmulator(80, 24)
	screen.SetCallbacks(vt.Callbacks{
		EnableMode:       func(mode ansi.Mode) { on[mode] = true },
		DisableMode:      func(mode ansi.Mode) { delete(on, mode) },
		CursorVisibility: func(is bool) { visible = is },
	})
	m := &screenModes{}
	for _, output := range []string{"\x1b[?1h\x1b[?1049h\x1b[?25l\x1b[?1002;1006;1004h\x1b[?2004h"} {
		io.WriteString(screen, "before"+output)
		m.Write([]byte(output))
		if len(on) == 0 || visible || !screen.IsAltScreen() {
			t.Fatalf("%v, %v: nothing to undo", on, visible)
		}
		io.WriteString(screen, m.undo())
		delete(on, ansi.DECMode(25))
		if len(on) != 0 || !visible || screen.IsAltScreen() {
			t.Errorf("left on: %v; the cursor is visible: %v", on, visible)
		}
	}
}
