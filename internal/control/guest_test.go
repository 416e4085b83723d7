package control

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestGuestLine(t *testing.T) {
	for line, want := range map[string]string{
		"checkpoint\n": "", "checkpoint turn 3\n": "turn 3", "checkpoint  a\n": " a", "checkpoint \u00e4\n": "\u00e4",
		"checkpoint " + strings.Repeat("a", MaxGuestLabel) + "\n": strings.Repeat("a", MaxGuestLabel),
	} {
		if label, err := ParseGuestLine([]byte(line)); err != nil || label != want {
			t.Errorf("%q: %q, %v", line, label, err)
		}
	}
	for _, line := range []string{
		"", "\n", "checkpoint", "checkpoint a", "checkpoint \n", "checkpoints\n", "Checkpoint a\n", "rewind 3\n", "checkpoint a\nb", "checkpoint a\n\n", "checkpoint a\r\n",
		"checkpoint \x1b[2J\n", "checkpoint a\x00\n", "checkpoint \xff\n", "checkpoint \u202e\n", "checkpoint " + strings.Repeat("a", MaxGuestLabel+1) + "\n",
	} {
		if label, err := ParseGuestLine([]byte(line)); err == nil {
			t.Errorf("%q was taken as %q", line, label)
		}
	}
	if line, err := GuestLine("two\nlines"); err == nil {
		t.Errorf("a label of two lines is %q", line)
	}
	for _, label := range []string{"", "turn 3"} {
		line, err := GuestLine(label)
		if got, perr := ParseGuestLine([]byte(line)); err != nil || perr != nil || got != label {
			t.Errorf("%q: %q, %v, %v", label, got, err, perr)
		}
	}
}

func FuzzGuestLine(f *testing.F) {
	f.Add([]byte("checkpoint turn 3\n"))
	f.Add([]byte("checkpoint\n"))
	f.Add([]byte("checkpoint \xff\n\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		label, err := ParseGuestLine(line)
		if err != nil {
			return
		}
		if len(label) > MaxGuestLabel || !utf8.ValidString(label) || strings.ContainsFunc(label, unicode.IsControl) {
			t.Fatalf("%q was taken as %q", line, label)
		}
		if again, err := GuestLine(label); err != nil || again != string(line) {
			t.Fatalf("%q is %q, of which the line is %q, %v", line, label, again, err)
		}
	})
}
