package decode

import (
	"testing"

	"github.com/riverlytech/art/internal/syscalls"
)

// zeros is memory that is all there.
type zeros struct{}

func (zeros) Read(_ uint64, b []byte) int { clear(b); return len(b) }

// A call's end can be decoded by whoever was not told of its beginning.
func TestExitWithoutEnter(t *testing.T) {
	for _, name := range syscalls.Native.Names() {
		nr, _ := syscalls.Native.Number(name)
		for _, ret := range []int64{0, 1, -1} {
			c := &Call{Arch: syscalls.Native.Audit, Nr: uint64(nr), Name: name, Mem: zeros{}, Ret: ret, Failed: ret < 0}
			c.Args = [6]uint64{0x1000, 0x1000, 3, 3, 0x1000, 0x1000}
			_ = Exit(c)
		}
	}
}
