package sync

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// syncs has a function called instead of syncfs(2).
func syncs(t *testing.T, f func() error) {
	t.Helper()
	was := syncfs
	t.Cleanup(func() { syncfs = was })
	syncfs = func(fd int) error {
		if err := f(); err != nil {
			return err
		}
		return was(fd)
	}
}

// The kernel tells an open file once that something could not be written, and that may be while more is staged.
func TestStagedIsNotWritten(t *testing.T) {
	b := newBench(t)
	b.guest(func(g *guest) {
		for _, name := range []string{"a", "b", "c"} {
			g.write(name, strings.Repeat("x", flushEvery))
		}
	})
	failed := false
	syncs(t, func() error {
		if failed {
			return nil
		}
		failed = true
		return unix.EIO
	})
	if _, told, err := b.run(Pull, b.ws); !errors.Is(err, unix.EIO) {
		t.Errorf("%v %s", err, told)
	}
	if list, _ := os.ReadDir(b.ws); len(list) > 0 {
		t.Errorf("the workspace has %v", list)
	}
	b.pull(b.ws)
	wantContent(t, b.path("c"), strings.Repeat("x", flushEvery))
}
