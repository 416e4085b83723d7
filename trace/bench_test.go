package trace_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// What the tracer allocates for an entry, told by notification and with its path read: a loop of a program that only makes calls.
func BenchmarkEntry(b *testing.B) {
	b.ReportAllocs()
	calls := 0
	var buf [64]byte
	cmd := &trace.Command{Path: "/usr/bin/python3", Args: []string{"python3", "-S", "-c", "import os\nwhile True: os.access('/nonexistent', 0)"},
		Entries: true, Engine: trace.Notification, Calls: []string{"access", "faccessat", "faccessat2"}, Stderr: os.Stderr}
	_, err := trace.Run(b.Context(), cmd, trace.Hooks{OnEnter: func(c *decode.Call) error {
		if calls++; calls == 1000 {
			b.ResetTimer()
		}
		c.Mem.Read(c.Args[0], buf[:])
		if calls == 1000+b.N {
			return unix.ECANCELED
		}
		return nil
	}})
	if !errors.Is(err, unix.ECANCELED) {
		b.Fatal(err)
	}
}
