package quote

import (
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext ä\n":                   "plain\ttext ä\n",
		"a\x1b[8mb\x07\r\x7f\x00":           "a[^[][8mb[^G^M^?^@]",
		"\u009b1m \x9b \xff":                "[<U+009B>]1m [<9B>] [<FF>]",
		"\u202ea\u2066b\u200f\u061c\ufeff":  "[<U+202E>]a[<U+2066>]b[<U+200F><U+061C><U+FEFF>]",
		"\U000e0041x\u2028y\u200b":          "[<U+E0041>]x[<U+2028>]y[<U+200B>]",
		"👩\u200d👧 \u0645\u06cc\u200c\u062e": "👩\u200d👧 \u0645\u06cc\u200c\u062e",
		"^[[8m": "^[[8m",
	} {
		if got := Text(in, func(s string) string { return "[" + s + "]" }); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzText proves that no byte of a terminal's control sequences passes, in whatever pieces text is written.
func FuzzText(f *testing.F) {
	for _, s := range []string{"\x1b]0;x\a", "\u009b8m", "\x9b8m", "\u202e", "a\xc2", "\xe2\x80", "👧"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s, nil)
		for _, r := range got {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%q becomes %q", s, got)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q becomes %q", s, got)
		}
		var b strings.Builder
		w := NewWriter(&b)
		buf := make([]byte, 1)
		for r := iotest.OneByteReader(strings.NewReader(s)); ; {
			n, err := r.Read(buf)
			w.Write(buf[:n])
			if err != nil {
				break
			}
		}
		w.Flush()
		if b.String() != got {
			t.Fatalf("%q becomes %q byte by byte, and %q at once", s, b.String(), got)
		}
	})
}
