package output

import (
	"io"
	"testing"

	"github.com/riverlytech/art/trace/decode"
)

// path is a memory that holds one path everywhere.
type path struct{}

func (path) Read(_ uint64, b []byte) int { return copy(b, "/usr/lib/x86_64-linux-gnu/libc.so.6\x00") }

// What it takes to write a call down, without the writing.
func BenchmarkText(b *testing.B) {
	for name, c := range map[string]*decode.Call{
		"getppid": returns(call(12345, "getppid"), 12344),
		"openat":  returns(call(12345, "openat", 1<<64-100, 0x7f0000001000, 0x80000), 3),
	} {
		c.Mem = path{}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			text := NewText(io.Discard, Style{})
			for b.Loop() {
				text.Enter(c)
				text.Exit(c)
				text.Flush()
			}
		})
	}
}
