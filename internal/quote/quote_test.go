package quote

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ in, pipe, terminal string }{
		{"plain.txt", "plain.txt", "plain.txt"},
		{"with space", "with space", "with space"},
		{"größe", "größe", "größe"},
		{`it's \ "quoted"`, `it's \ "quoted"`, `it's \ "quoted"`},
		{"new\nline", `$'new\nline'`, `$'new\nline'`},
		{"esc\x1b[2J'", `$'esc\033[2J\''`, `$'esc\033[2J\''`},
		{"tab\t9", `$'tab\t9'`, `$'tab\t9'`},
		{"latin\xe9", "latin\xe9", `$'latin\351'`},
		{"c1\u0085", "c1\u0085", `$'c1\302\205'`},
		{"rtl\u202etxt", "rtl\u202etxt", `$'rtl\342\200\256txt'`},
		{"$'x'", `$'$\'x\''`, `$'$\'x\''`},
	} {
		if got := Name(c.in, false); got != c.pipe {
			t.Errorf("%q in a pipe: %s, want %s", c.in, got, c.pipe)
		}
		if got := Name(c.in, true); got != c.terminal {
			t.Errorf("%q on a terminal: %s, want %s", c.in, got, c.terminal)
		}
	}
}

// FuzzName proves that what is printed on a terminal holds nothing but printable characters, and
// that bash reads a quoted name back as the same bytes.
func FuzzName(f *testing.F) {
	for _, s := range []string{"a\nb", "\xff", "\x1b]0;x\a", "\\'", "\u202e1", "\x017"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || strings.ContainsRune(name, 0) {
			return
		}
		got := Name(name, true)
		if needed(got, true) && !strings.HasPrefix(got, "$'") {
			t.Fatalf("%q still needs quoting", got)
		}
		if got == name {
			return
		}
		cmd := exec.Command("bash", "-c", "printf %s "+got)
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		out, err := cmd.Output()
		if err != nil || string(out) != name {
			t.Fatalf("bash reads %s as %q, want %q (%v)", got, out, name, err)
		}
	})
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		"plain <&>": `"plain <&>"`, "a\n\x1b[2J\x7f": `"a\n\u001b[2J\u007f"`, "\u009b\u202e\u2066": `"\u009b\u202e\u2066"`,
		"\U000e0001": `"\udb40\udc01"`, "\u00e4\U0001f600": "\"\u00e4\U0001f600\"", "\xff": "\"\\ufffd\"",
	} {
		got, err := JSON(in)
		if err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != strings.ToValidUTF8(in, "\ufffd") {
			t.Errorf("%q comes back as %q, %v", in, back, err)
		}
	}
}
