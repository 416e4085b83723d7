package fs

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// Going back in a session whose kernel has all of a large tree in its caches, by how many files have changed. The more versions of these
// history has, the longer it takes: -benchtime 6x is like a day.
func BenchmarkGoingBack(b *testing.B) {
	const files, inDir = 100_000, 100
	m := newMounted(b)
	name := func(n int) string { return m.at(fmt.Sprintf("d%d/f%d", n/inDir%(files/inDir), n%inDir)) }
	for n := range files {
		if n%inDir == 0 {
			m.must(b, os.Mkdir(m.at(fmt.Sprintf("d%d", n/inDir)), 0o755))
		}
		m.must(b, os.WriteFile(name(n), fmt.Appendf(nil, "file %d", n), 0o644))
	}
	m.do(b, "checkpoint")
	for _, changed := range []int{1, 1000} {
		b.Run(fmt.Sprintf("files=%d", changed), func(b *testing.B) {
			var took []time.Duration
			for range b.N {
				for n := range changed {
					m.must(b, os.WriteFile(name(n*13), []byte("changed"), 0o644))
				}
				m.do(b, "checkpoint") // as a session makes it when the guest rests
				d, err := time.ParseDuration(m.do(b, "undo"))
				m.must(b, err)
				took = append(took, d)
				if got, err := os.ReadFile(name(0)); err != nil || string(got) != "file 0" {
					b.Errorf("it holds %q, %v", got, err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
		})
	}
}
