package report

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// What the guest has named must not tell anything in the place of art, wherever the name is told.
func TestNamesInReasons(t *testing.T) {
	var stdout, stderr strings.Builder
	r := New(Options{Stdout: &stdout, Stderr: &stderr}, "art-sync")
	const name = "refs/\x1b]0;title\a\nCONFLICT all: forged\u009b1m"
	r.Note("at", name)
	r.Conflict("at", name)
	r.Held("at", name)
	r.End(nil)
	if n := strings.Count(stderr.String(), "\n"); n != 3 || strings.ContainsAny(stderr.String(), "\x1b\a\u009b") {
		t.Errorf("%q", &stderr)
	}
}

// What is printed while the reporter pauses waits, in its order, and an error of it is told.
func TestPause(t *testing.T) {
	var all strings.Builder
	r := New(Options{Stdout: &all, Stderr: &all}, "art-sync")
	r.Line("FILE one")
	r.Pause()
	before := all.String()
	r.Line("FILE two")
	r.Conflict("three", "why")
	r.Line("FILE four")
	r.Flush()
	if all.String() != before || before != "FILE one\n" {
		t.Errorf("%q was printed, then %q", before, all.String())
	}
	r.End(nil)
	if got := all.String(); got != "FILE one\nFILE two\nCONFLICT three: why\nFILE four\n" {
		t.Errorf("%q", got)
	}
	r = New(Options{Stdout: refuses{}, Stderr: &all}, "art-sync")
	r.Pause()
	r.Line("FILE one")
	r.Flush()
	if err := r.End(nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("it ended in %v", err)
	}
}

type refuses struct{}

func (refuses) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
