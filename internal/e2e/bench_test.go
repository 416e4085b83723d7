package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart is the time of a session that does nothing. The metric "x-bwrap"
// says how many times as long as a bare bwrap that is; the two run by turns, so
// that a busy machine slows both alike.
func BenchmarkStart(b *testing.B) {
	ws, db := b.TempDir(), filepath.Join(b.TempDir(), "ws.db")
	bare := []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"}
	for name, session := range map[string][]string{
		"direct":  {"art", "-m", ws, "--", "true"},
		"overlay": {"art", "-m", ws, "-d", db, "--", "true"},
	} {
		benchRun(b, session[0], session[1:]...) // creates the database
		b.Run(name, func(b *testing.B) {
			var ours, theirs []time.Duration
			for b.Loop() {
				begin := time.Now()
				benchRun(b, bare[0], bare[1:]...)
				middle := time.Now()
				benchRun(b, session[0], session[1:]...)
				theirs, ours = append(theirs, middle.Sub(begin)), append(ours, time.Since(middle))
			}
			b.ReportMetric(0, "ns/op") // of both together: it says nothing
			b.ReportMetric(median(ours).Seconds()*1000, "ms")
			b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x-bwrap")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
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
