package notify

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/riverlytech/art/internal/terminal/escape"
)

func heard(pieces ...string) (texts []string) {
	o := NewOutput(func(text string) { texts = append(texts, text) })
	for _, p := range pieces {
		_, _ = o.Write([]byte(p))
	}
	return texts
}

func TestOutput(t *testing.T) {
	for text, want := range map[string][]string{
		"plain \x1b[31mred\x1b[m\r\n":                           nil,
		"\a":                                                    {""},
		"\x1b]0;a title\a":                                      nil,
		"\x1b]0;a title\x1b\\\a":                                {""},
		"\x1b]9;done\a\x1b]9;done; really\x1b\\":                {"done", "done; really"},
		"\x1b]9;4;1;50\a\x1b]9;12\a\x1b]9;\a\x1b]9\a":           nil,
		"\x1b]9;4 files\a":                                      {"4 files"},
		"\x1b]777;notify;Title;Body; more\a":                    {"Title: Body; more"},
		"\x1b]777;notify;Title\a\x1b]777;precmd\a":              {"Title"},
		"\x1bPq\a\x1b\\\a":                                      {""},
		"\x1b]9;cut\x18\a":                                      {""},
		"\x1b]9;cut\x1b]9;whole\a":                              {"cut", "whole"},
		"\x1b]9;cut\x1b[1m\a":                                   {"cut", ""},
		"\x1b]9;" + strings.Repeat("x", 5000) + "\a":            {strings.Repeat("x", escape.MaxString-2)},
		"\x1b\x1b]9;twice\x1b\x1b\\":                            {"twice"},
		"\x1b_\x1b]9;in another\x1b\\":                          {"in another"},
		"\x1b]52;c;YmVsbA==\a" + "\x1b]8;;http://x/\x1b\\" + "": nil,
	} {
		if got := heard(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
		if got := heard(strings.Split(text, "")...); !slices.Equal(got, want) {
			t.Errorf("%q byte by byte: %q, not %q", text, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"done": "done", " a\nb\x1b[2Jc\x00 ": "a b[2Jc", "<b>x</b> & \u202e\xff": "‹b›x‹/b› +", strings.Repeat("ö", 500): strings.Repeat("ö", 200),
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("\x1b]9;text\a\a"), 3)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		whole := heard(string(p))
		at = max(0, min(at, len(p)))
		if halves := heard(string(p[:at]), string(p[at:])); !slices.Equal(whole, halves) {
			t.Errorf("%q is %q, and cut at %d %q", p, whole, at, halves)
		}
		for _, text := range whole {
			if c := Clean(text); len(text) > escape.MaxString || utf8.RuneCountInString(c) > maxText || strings.ContainsAny(c, "<>&\x1b\n") {
				t.Errorf("%q is told as %q", text, c)
			}
		}
	})
}
