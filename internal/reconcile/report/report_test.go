package report

import (
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
