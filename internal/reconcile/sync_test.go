package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/staging"
)

// syncs has a function called before syncfs(2), which may fail in its place. The test calls end.
func syncs(t *testing.T, f func() error) (end func()) {
	t.Helper()
	was := syncfs
	end = func() { syncfs = was }
	t.Cleanup(end)
	syncfs = func(fd int) error {
		if err := f(); err != nil {
			return err
		}
		return was(fd)
	}
	return end
}

// What rows refer to is replaced when all that is new is on the disk and the journal is written. That this is done
// is written down when it is on the disk too.
func TestOrderOfSyncs(t *testing.T) {
	b := newBench(t)
	b.swap()
	var got []string
	end := syncs(t, func() error {
		a, err := os.ReadFile(b.path("a"))
		must(t, err)
		staged, _ := filepath.Glob(b.path(staging.Prefix + "*/[0-9]*"))
		got = append(got, fmt.Sprintf("%s, %d staged, journal %v, at its place in the database %v", a, len(staged),
			b.count("SELECT count(*) FROM art_journal") > 0, b.count("SELECT count(*) FROM art_baseline") > 0))
		return nil
	})
	b.pull(b.ws)
	end()
	want := []string{
		"content of a, 2 staged, journal false, at its place in the database false",
		"content of b, 0 staged, journal true, at its place in the database false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("at each sync:\n%q\nwant\n%q", got, want)
	}
	if n := b.count("SELECT count(*) FROM art_journal"); n != 0 {
		t.Errorf("%d entries in the journal", n)
	}
}

// swap makes two files of which the guest has changed the names.
func (b bench) swap() {
	b.write("a", "content of a")
	b.write("b", "content of b")
	b.guest(func(g *guest) {
		g.rename("a", "x")
		g.rename("b", "a")
		g.rename("x", "b")
	})
}

func (b bench) wantSwapped() {
	b.t.Helper()
	wantContent(b.t, b.path("a"), "content of b")
	wantContent(b.t, b.path("b"), "content of a")
	b.guest(func(g *guest) {
		if g.read("a") != "content of b" || g.read("b") != "content of a" {
			b.t.Errorf("the guest has %v", g.portrait())
		}
	})
	if left, _ := filepath.Glob(b.path(staging.Prefix + "*")); left != nil || b.count("SELECT count(*) FROM art_journal") != 0 {
		b.t.Errorf("left behind: %v, or a journal", left)
	}
}

// What is in place but not on the disk is not written down as done.
func TestPlacedIsNotWritten(t *testing.T) {
	b := newBench(t)
	b.swap()
	n := 0
	end := syncs(t, func() error {
		if n++; n == 2 {
			return unix.EIO
		}
		return nil
	})
	if _, told, err := b.run(Pull, b.ws); !errors.Is(err, unix.EIO) {
		t.Errorf("%v %s", err, told)
	}
	end()
	if n := b.count("SELECT count(*) FROM art_journal"); n == 0 {
		t.Error("the journal is gone")
	}
	b.pull(b.ws)
	b.wantSwapped()
}

// When a file does not come to its place and the database cannot take what is staged, that stays for another pull.
func TestDatabaseTakesNothing(t *testing.T) {
	b := newBench(t)
	b.swap()
	n := 0
	end := syncs(t, func() error {
		if n++; n == 1 { // all is staged
			b.sql("CREATE TRIGGER full BEFORE INSERT ON fs_data BEGIN SELECT RAISE(ABORT, 'full'); END")
			must(t, os.Remove(b.path("b")))
			b.write("b", "of the host")
		}
		return nil
	})
	if _, told, err := b.run(Pull, b.ws); err == nil {
		t.Errorf("the pull succeeded: %s", told)
	}
	end()
	b.sql("DROP TRIGGER full")
	must(t, os.Remove(b.path("b")))
	b.pull(b.ws, force)
	b.wantSwapped()
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
