package terminal

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct {
		keys, typed, pass string
		pressed           bool
	}{
		{DefaultKeys, "abc", "abc", false},
		{DefaultKeys, "abc\x1cdx", "abc", true},
		{DefaultKeys, "\x1b[92;5u\x1b[100u", "", true},
		{DefaultKeys, "a\x1b[27;5;92~d", "a", true},
		{DefaultKeys, "\x1c\x1cd", "\x1c", true},
		{DefaultKeys, "\x1cx\x1b[A", "\x1cx\x1b[A", false},
		{DefaultKeys, "\x1b", "\x1b", false},
		{DefaultKeys, "\x1c", "\x1c", false},
		{"", "\x1cd", "\x1cd", false},
		{"ctrl-p,ctrl-q", "\x10\x11", "", true},
		{"ctrl-a", "x\x01y", "x", true},
	} {
		for _, size := range []int{1, 2, 100} {
			k, err := ParseKeys(test.keys)
			if err != nil {
				t.Fatal(err)
			}
			if size < 100 && test.keys == DefaultKeys && len(test.typed) > 5 && test.pressed {
				continue // a key of several bytes comes at once
			}
			pass, pressed := "", false
			for rest := test.typed; rest != "" && !pressed; {
				n := min(size, len(rest))
				var p []byte
				p, pressed = k.Look([]byte(rest[:n]))
				pass, rest = pass+string(p), rest[n:]
			}
			if !pressed {
				pass += string(k.Rest())
			}
			if pass != test.pass || pressed != test.pressed {
				t.Errorf("%s: %q by %d: %q, %v", test.keys, test.typed, size, pass, pressed)
			}
		}
	}
	for _, bad := range []string{"x,", "ctrl-", "ctrl-1", "ab", "\x1b"} {
		if _, err := ParseKeys(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := ParseKeys(`ctrl-\,xx`); err == nil || !strings.Contains(err.Error(), `"ctrl-\,xx"`) {
		t.Errorf("it is not said what was typed: %v", err)
	}
}
