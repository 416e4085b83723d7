package terminal

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for _, test := range []struct{ name, output, want string }{
		{"text", "a line\r\n\tü 漢 🙂\n", "a line\r\n\tü 漢 🙂\n"},
		{"colours", "\x1b[1;38:2::1:2:3mred\x1b[0m \x1b[mplain", "\x1b[1;38:2::1:2:3mred\x1b[0m \x1b[mplain"},
		{"colours that are left on", "\x1b[8;30;40mhidden\nseen", "\x1b[8;30;40mhidden\x1b[m\nseen"},
		{"colours at the end", "\x1b[31mred", "\x1b[31mred\x1b[m"},
		{"what a terminal answers", "a\x1b[c\x1b[6n\x1b[>c\x1b]10;?\a\x1bP$qm\x1b\\\x1b[21t\x05b", "ab"},
		{"what it obeys", "a\x1b]52;c;ZXZpbA==\a\x1b]0;title\x1b\\\x1b[?1049h\x1b[2J\x1b[H\x1bc\x1b(0\x1b[?4m\x1b[>4;2m\x1b[4 mb\a\b\v\f\x0e", "ab"},
		{"characters that control", "a\u009b2Jb\u202ec\x7f\x9b2Jd\u2028", "a2Jbc\ufffd2Jd"},
		{"what is cut off by a line", "a\x1b]0;title\nb\x1b[31\nc\x1b\nd\xe6\n", "a\nb\nc\nd\ufffd\n"},
		{"what is cut off at the end", "a\x1b]0;title", "a"},
		{"sequences in others", "\x1b]0;\x1b[31mred\x1b[3\x1b[32mgreen\x1b[31\x18m", "\x1b[31mred\x1b[32mgreenm\x1b[m"},
		{"one without an end", "a\x1b[" + strings.Repeat("1;", maxStyle) + "mb", "ab"},
		{"what is no text", "\xff\xc3\x1b[31m\xa9\xe6\x1b[32mx", "\ufffd\ufffd\x1b[31m\ufffd\ufffd\x1b[32mx\x1b[m"},
	} {
		var whole, pieces bytes.Buffer
		w := NewPlain(&whole)
		w.Write([]byte(test.output))
		w.Close()
		w = NewPlain(&pieces)
		for i := range len(test.output) {
			w.Write([]byte(test.output[i : i+1]))
		}
		w.Close()
		if whole.String() != test.want {
			t.Errorf("%s: %q, want %q", test.name, whole.String(), test.want)
		}
		if pieces.String() != test.want {
			t.Errorf("%s, byte by byte: %q, want %q", test.name, pieces.String(), test.want)
		}
	}
}

// Whatever is written, nothing gets to the terminal but text and colours, which are off at the end.
func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x1b[1mx\x1b]0;y\x1b\\\x1b[6n\u009b"))
	allowed := regexp.MustCompile(`^(\x1b\[[0-9;:]*m|[\r\n\t]|[^\x00-\x1f\x7f\x{80}-\x{9f}])*$`)
	f.Fuzz(func(t *testing.T, output []byte) {
		var b bytes.Buffer
		w := NewPlain(&b)
		w.Write(output)
		w.Close()
		if !allowed.MatchString(b.String()) {
			t.Errorf("%q is let through", b.String())
		}
	})
}
