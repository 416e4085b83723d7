package escape

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told is what output means, but for its text.
func told(output string) (list []string) {
	var z Parser
	for _, c := range []byte(output) {
		switch z.Next(c) {
		case Execute:
			list = append(list, fmt.Sprintf("%q", c))
		case Escape:
			list = append(list, "esc "+z.Marks()+string(c))
		case Control:
			args := ""
			for i := range z.Params() {
				args += map[bool]string{false: ";", true: ":"}[z.Sub(i)] + fmt.Sprint(z.Arg(i, -1))
			}
			list = append(list, "csi "+z.Marks()+string(c)+strings.TrimPrefix(args, ";"))
		case Command:
			text, ok := z.Text()
			list = append(list, fmt.Sprintf("osc %.20s %d %t", text, len(text), ok))
		}
	}
	return list
}

func TestNext(t *testing.T) {
	for output, want := range map[string][]string{
		"text ü \x7f":                                    nil,
		"a\nb\x1b[1\r;2m":                                {`'\n'`, `'\r'`, "csi m1;2"},
		"\x1b[m\x1b[;5H\x1b[38:2::1mx":                   {"csi m", "csi H-1;5", "csi m38:2:-1:1"},
		"\x1b[?25h\x1b[4 q\x1b[!p\x1b[>4;2m\x1b[?2026$p": {"csi ?h25", "csi  q4", "csi !p", "csi >m4;2", "csi ?$p2026"},
		"\x1b7\x1b(0\x1b#8\x1b$(C":                       {"esc 7", "esc (0", "esc #8", "esc $(C"},
		"\x1b]0;title\a\x1b]2;other\x1b\\":               {"osc 0;title 7 true", "osc 2;other 7 true", `esc \`},
		"\x1b]0;cut\x1b]1;off\x18x\a":                    {"osc 0;cut 5 true", `'\a'`},
		"\x1bP1$r\x1b\\\x1b_\a\x1b\\\x1bXa\nb\x1b\\":     {`esc \`, `esc \`, `esc \`},
		"\x1b[1\x1b[2m\x1b[3\x1am\x1b[1<2m":              {"csi m2"},
		"\x1b[ !\"#p\x1b[99999999h":                      {"csi h65535"},
		"\x1b]9;" + strings.Repeat("x", 5000) + "\a":     {"osc 9;xxxxxxxxxxxxxxxxxx 4096 false"},
		"\x1b[" + strings.Repeat("7;", 40) + "m":         {"csi m" + strings.TrimSuffix(strings.Repeat("7;", MaxParams), ";")},
	} {
		if got := told(output); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

// A terminal that gets the rest of what was cut off goes on as one that got all of it.
func FuzzRest(f *testing.F) {
	f.Add([]byte("\x1b[1;2\nm\x1b]0;title\a\x1b(0x"), uint(4))
	f.Fuzz(func(t *testing.T, output []byte, at uint) {
		cut := int(at % uint(len(output)+1))
		var z Parser
		begin := 0
		for i, c := range output[:cut] {
			if c == '\x1b' {
				begin = i
			}
			z.Next(c)
		}
		if !z.Ground() {
			z.Keep(output[begin:cut])
		}
		rest := string(z.Rest())
		if len(rest) > 2*MaxString || z.Held() > 8*MaxString {
			t.Fatalf("%d bytes are left, %d are held", len(rest), z.Held())
		}
		all, before := told(string(output)), told(string(output[:cut]))
		if after := told(rest + string(output[cut:])); !slices.Equal(append(before, after...), all) {
			t.Errorf("%q cut at %d: %q and then %q, want %q", output, cut, before, after, all)
		}
	})
}
