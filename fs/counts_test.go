package fs

import (
	"testing"

	"github.com/jacobsa/fuse/fuseops"
)

func TestCounts(t *testing.T) {
	var c counts
	if got := c.String(); got != "" {
		t.Errorf("before anything was counted: %q", got)
	}
	for _, op := range []any{&fuseops.ReadFileOp{}, &fuseops.LookUpInodeOp{}, &fuseops.ReadFileOp{}} {
		c.add(op)
	}
	if got, want := c.String(), "LookUpInode=1 ReadFile=2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkCounts(b *testing.B) {
	var c counts
	var op any = &fuseops.LookUpInodeOp{}
	for b.Loop() {
		c.add(op)
	}
}
