package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStart is the time of a session that does nothing.
func BenchmarkStart(b *testing.B) {
	ws, db := b.TempDir(), filepath.Join(b.TempDir(), "ws.db")
	b.Run("bwrap", func(b *testing.B) {
		for b.Loop() {
			benchRun(b, "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")
		}
	})
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			benchRun(b, "art", "-m", ws, "--", "true")
		}
	})
	b.Run("overlay", func(b *testing.B) {
		for b.Loop() {
			benchRun(b, "art", "-m", ws, "-d", db, "--", "true")
		}
	})
}

// BenchmarkUntar unpacks Go's source tree on the host's file system, through
// fuse-overlayfs on it, and in a session whose database lies on it; each time
// to the end of the session, so with all of it in the database.
func BenchmarkUntar(b *testing.B) {
	goroot, err := goRoot()
	if err != nil {
		b.Fatal(err)
	}
	ws := b.TempDir()
	archive := filepath.Join(ws, "go-src.tar")
	benchRun(b, "tar", "-cf", archive, "-C", goroot, "src")

	b.Run("host", func(b *testing.B) {
		for b.Loop() {
			untar(b, archive, b.TempDir())
		}
	})
	b.Run("fuse-overlayfs", func(b *testing.B) {
		for b.Loop() {
			dirs := map[string]string{}
			for _, name := range []string{"lower", "upper", "work", "merged"} {
				dirs[name] = b.TempDir()
			}
			benchRun(b, "fuse-overlayfs", "-o", "lowerdir="+dirs["lower"]+",upperdir="+dirs["upper"]+",workdir="+dirs["work"], dirs["merged"])
			untar(b, archive, dirs["merged"])
			benchRun(b, "fusermount3", "-u", dirs["merged"])
		}
	})
	b.Run("art", func(b *testing.B) {
		for b.Loop() {
			db := filepath.Join(b.TempDir(), "ws.db")
			benchRun(b, "art", "-m", ws, "-d", db, "--", "tar", "-xf", "go-src.tar")
			if err := os.Remove(db); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func untar(b *testing.B, archive, dir string) {
	benchRun(b, "tar", "-xf", archive, "-C", dir)
}

func benchRun(b *testing.B, name string, args ...string) {
	b.Helper()
	cmd := exec.Command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}
