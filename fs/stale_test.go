package fs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// versionOf is what the host writes into a file as its v-th version: the content tells which it is, and how long it is.
func versionOf(v int) []byte {
	unit := fmt.Sprintf("%07d\n", v)
	return []byte(strings.Repeat(unit, 1+v*397%1500)) // up to three pages
}

// mixture tells what is wrong with content that must be one version.
func mixture(got []byte) string {
	v, err := strconv.Atoi(string(got[:min(len(got), 7)]))
	if err != nil {
		return fmt.Sprintf("%d bytes begin with %q", len(got), got[:min(len(got), 8)])
	}
	if want := versionOf(v); !bytes.Equal(got, want) {
		return fmt.Sprintf("version %d: %s", v, difference(got, want))
	}
	return ""
}

// The host replaces files while programs open them by their names, and nobody reads the directory: no name stays what it was, and
// what is read is one version but for a rare case.
func TestNamesThatTheHostReplaces(t *testing.T) {
	m := newMounted(t)
	const files, guests, replaces = 8, 4, 600
	name := func(v int) string { return fmt.Sprintf("d/f%d", v%files) }
	replace := func(v int) {
		m.must(t, os.WriteFile(m.host("d/tmp"), versionOf(v), 0o644))
		m.must(t, os.Rename(m.host("d/tmp"), m.host(name(v))))
	}
	m.must(t, os.Mkdir(m.host("d"), 0o755))
	for v := range files {
		replace(v)
	}
	var now atomic.Int64 // the version that the host makes
	var reads, refused, mixed atomic.Int64
	var running sync.WaitGroup
	for g := range guests {
		running.Go(func() {
			for i := 0; now.Load() < replaces; i++ {
				path := m.at("ws/" + name(int(now.Load())+i%2))
				if i%8 >= 6 { // the others hold on to what they have opened
					time.Sleep(time.Duration(g) * 100 * time.Microsecond)
				}
				reads.Add(1)
				got, err := os.ReadFile(path)
				for again := 0; errors.Is(err, syscall.ESTALE) && again < 100; again++ { // what was opened is there no more
					if again == 0 {
						refused.Add(1)
					}
					time.Sleep(10 * time.Millisecond) // until the kernel is told
					got, err = os.ReadFile(path)
				}
				switch {
				case err != nil:
					t.Error(err)
				case mixture(got) != "":
					mixed.Add(1)
				}
			}
		})
	}
	for v := files; v < replaces+files; v++ {
		now.Store(int64(v))
		replace(v)
	}
	running.Wait()
	// Whoever reads just when the size changes may be answered between two versions, in one of some thousand attempts; and who
	// opens what the kernel has yet to be told of is refused, which takes milliseconds.
	if refused.Load() > replaces/20 || mixed.Load() > replaces/200 {
		t.Errorf("of %d reads %d were refused at first, and %d were a mixture", reads.Load(), refused.Load(), mixed.Load())
	}
	soon(t, 30*time.Second, func() string {
		for v := replaces; v < replaces+files; v++ {
			if wrong := m.is("ws/"+name(v), string(versionOf(v))); wrong != "" {
				return wrong[:min(len(wrong), 100)]
			}
		}
		return ""
	})
}
