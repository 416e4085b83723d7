package fs

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var backFiles = flag.Int("back-files", 0, "how many files TestGoingBackIsQuick has, if it is to run")

// Times of going back in a session, in a tree of many files.
func TestGoingBackIsQuick(t *testing.T) {
	if *backFiles == 0 {
		t.Skip("give -back-files")
	}
	m := newMounted(t)
	const inDir = 100
	name := func(n int) string { return m.at(fmt.Sprintf("d%d/f%d", n/inDir%(*backFiles/inDir), n%inDir)) }
	for n := range *backFiles {
		if n%inDir == 0 {
			m.must(t, os.Mkdir(m.at(fmt.Sprintf("d%d", n/inDir)), 0o755))
		}
		m.must(t, os.WriteFile(name(n), fmt.Appendf(nil, "file %d", n), 0o644))
	}
	m.do(t, "checkpoint")
	for _, changed := range []int{1, 1000} {
		for range 3 {
			for n := range changed {
				m.must(t, os.WriteFile(name(n*13), []byte("changed"), 0o644))
			}
			t.Logf("undo of %d files: %s", changed, m.do(t, "undo"))
			if got, err := os.ReadFile(name(0)); err != nil || string(got) != "file 0" {
				t.Errorf("it holds %q, %v", got, err)
			}
			t.Logf("redo of %d files: %s", changed, m.do(t, "redo"))
			m.do(t, "undo")
		}
	}
}
