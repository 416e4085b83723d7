package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFprint(t *testing.T) {
	base := errors.New("open x: no such file or directory")
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"plain", base, "art: open x: no such file or directory\n"},
		{"hint", WithHint(base, "make it"), "art: open x: no such file or directory\nart: hint: make it\n"},
		{"wrapped hint", fmt.Errorf("start: %w", WithHint(base, "make it")), "art: start: open x: no such file or directory\nart: hint: make it\n"},
		{"empty hint", WithHint(base, ""), "art: open x: no such file or directory\n"},
		{"joined", errors.Join(base, errors.New("b\x1bc")), "art: open x: no such file or directory\nart: b\\x1bc\n"},
		{"joined with hints", errors.Join(WithHint(base, "make it"), errors.Join(WithHint(base, "make it"), WithHint(base, "look"))),
			"art: open x: no such file or directory\nart: open x: no such file or directory\nart: hint: make it\nart: open x: no such file or directory\nart: hint: look\n"},
		{"two in one line", fmt.Errorf("%w: %w", base, WithHint(base, "make it")), "art: open x: no such file or directory: open x: no such file or directory\nart: hint: make it\n"},
		{"other than ASCII", errors.New("open \u00e4\xff\u4e2d\U0001f600"), "art: open \u00e4\xff\u4e2d\U0001f600\n"},
		{"control characters of eight bits", errors.New("open \u009b2J\x9b2J"), "art: open \\u009b2J\\x9b2J\n"},
		{"direction of text", errors.New("open \u202efdp.exe"), "art: open \\u202efdp.exe\n"},
		{"control characters", errors.New("open a\x1b[2Jb\nc"), "art: open a\\x1b[2Jb\\x0ac\n"},
	} {
		var b strings.Builder
		Fprint(&b, "art", test.err)
		if b.String() != test.want {
			t.Errorf("%s: printed %q, want %q", test.name, b.String(), test.want)
		}
	}
}

func TestWithHintKeepsTheError(t *testing.T) {
	base := errors.New("base")
	if !errors.Is(WithHint(base, "hint"), base) {
		t.Error("the error under a hint is not found")
	}
	if WithHint(nil, "hint") != nil {
		t.Error("a hint made an error of nil")
	}
}
