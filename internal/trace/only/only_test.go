package only

import (
	"testing"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// A call that is left out is so at its end, too; of one whose end nobody is told of, nothing is remembered for it.
func TestLeft(t *testing.T) {
	told := 0
	f := New([]string{"/a/file"}, trace.Hooks{OnExit: func(*decode.Call) error { told++; return nil }}).(*filter)
	for _, entryOnly := range []bool{false, true} {
		c := &decode.Call{Pid: 7, Name: "getpid", Arch: syscalls.Native.Audit, EntryOnly: entryOnly}
		if err := f.Enter(c); err != nil || f.left[7] == entryOnly {
			t.Errorf("entries: %v: %v; %v is remembered", entryOnly, err, f.left)
		}
		if entryOnly {
			continue
		}
		if err := f.Exit(c); err != nil || told != 0 || len(f.left) != 0 {
			t.Errorf("%v, told %d times; %v is remembered", err, told, f.left)
		}
	}
}
