package reconcile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rounds is how often each of two programs runs; the medians are compared.
const rounds = 3

// BenchmarkGoSource moves the source of Go's own commands (about 4,900 entries, 64 MB) by push and pull and by
// programs that do a part of the same: sqlite3 -A stores a tree in a database, rsync finds that
// nothing has changed, tar unpacks.
func BenchmarkGoSource(b *testing.B) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	must(b, err)
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "cmd")
	dir := b.TempDir()
	ws, db := filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")
	archive, mirror := filepath.Join(dir, "ws.tar"), filepath.Join(dir, "mirror")
	command(b, dir, "cp", "-a", source, ws)()
	command(b, dir, "tar", "cf", archive, "ws")()
	command(b, dir, "rsync", "-a", "ws/", mirror)()
	ourself(b, "push", ws, db)()
	// A new place each time, and nothing is removed before the end: ext4 is slow to give out again what
	// was just freed (fs/ext4/ialloc.c, recently_deleted).
	places := 0
	place := func() string {
		places++
		to := filepath.Join(dir, fmt.Sprint("place", places), "ws")
		must(b, os.MkdirAll(to, 0o755))
		return to
	}
	b.Run("push", func(b *testing.B) {
		compare(b, "sqlite3-A",
			func() func() { return command(b, dir, "sqlite3", place()+".db", "-A", "-c", "ws") },
			func() func() { return ourself(b, "push", ws, place()+".db") })
	})
	b.Run("push-again", func(b *testing.B) {
		compare(b, "rsync-a",
			func() func() { return command(b, dir, "rsync", "-a", "ws/", mirror) },
			func() func() { return ourself(b, "push", ws, db) })
	})
	b.Run("pull", func(b *testing.B) {
		compare(b, "tar-x",
			func() func() { return command(b, filepath.Dir(place()), "tar", "xf", archive) },
			func() func() { return ourself(b, "pull", place(), db) })
	})
}

// compare runs another program and ours in turns, each with nothing left to be written to the disk.
func compare(b *testing.B, name string, other, ours func() func()) {
	timed := func(prepare func() func()) time.Duration {
		run := prepare()
		unix.Sync()
		begin := time.Now()
		run()
		return time.Since(begin)
	}
	for b.Loop() {
		var theirs, own []time.Duration
		for range rounds {
			theirs = append(theirs, timed(other))
			own = append(own, timed(ours))
		}
		slices.Sort(theirs)
		slices.Sort(own)
		t, o := theirs[rounds/2].Seconds(), own[rounds/2].Seconds()
		b.ReportMetric(o, "s")
		b.ReportMetric(t, name+"-s")
		b.ReportMetric(o/t, "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

func command(b *testing.B, dir, name string, args ...string) func() {
	return started(b, func() *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		return cmd
	})
}

// ourself is push or pull in a process of its own.
func ourself(b *testing.B, what, ws, db string) func() {
	return started(b, func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], ws, db)
		cmd.Env = append(os.Environ(), asCommand+"="+what)
		return cmd
	})
}

func started(b *testing.B, make func() *exec.Cmd) func() {
	return func() {
		b.Helper()
		cmd := make()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%.1000s", strings.Join(cmd.Args, " "), err, out)
		}
	}
}
