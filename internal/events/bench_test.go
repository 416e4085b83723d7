package events

import (
	"os"
	"testing"
	"time"
)

// A changed file, told.
func BenchmarkTell(b *testing.B) {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	s := New(f, func(string) {})
	at := time.Now()
	for b.Loop() {
		s.TellAt(at, FileChanged, FileChange{Path: "/home/agent/ws/node_modules/left-pad/index.js", What: []string{"made", "written", "named"}, Process: 12})
	}
	s.End()
}
