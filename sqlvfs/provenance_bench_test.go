package sqlvfs

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkProvenance measures what it costs to note whose changes are, as the ratio of with to without, in turns: of the time that
// passes, and of the processors'.
func BenchmarkProvenance(b *testing.B) {
	// A process makes 20 files, as compilers and git do.
	const files, each = 10_000, 20
	for name, run := range map[string]func(b *testing.B, s *Store, noted bool){
		"create": func(b *testing.B, s *Store, noted bool) {
			p := int64(0)
			for i := range files {
				if noted && i%each == 0 {
					s.EndProcess(p, Now(), new(int))
					p = s.AddProcess(Process{PID: i, Argv: []string{"git", "add", "."}, Dir: "/home/agent/work", Started: Now()})
				}
				must(b, s.Update(func(tx *Tx) error {
					tx.By(p, false)
					in, err := tx.New(Attr{Mode: 0o100644, Nlink: 1})
					must(b, err)
					must(b, tx.Link(tx.Root(), fmt.Sprint("file", i), in))
					tx.Put(in)
					return nil
				}))
				must(b, s.Update(func(tx *Tx) error {
					tx.By(p, false)
					c, _, _, err := tx.Child(tx.Root(), fmt.Sprint("file", i))
					must(b, err)
					in, err := tx.Get(c.Ino)
					must(b, err)
					defer tx.Put(in)
					return tx.WriteAt(in, content1k, 0, Now())
				}))
			}
		},
		"commit": func(b *testing.B, s *Store, noted bool) {
			in := create(b, s, "file", 0o644)
			for range 1000 {
				p := int64(0)
				if noted {
					p = s.AddProcess(Process{PID: 8, Argv: []string{"sed", "-i", "s/a/b/", "file"}, Dir: "/home/agent/work", Started: Now()})
				}
				must(b, s.Update(func(tx *Tx) error {
					tx.By(p, false)
					return tx.WriteAt(in, content1k, 0, Now())
				}))
				s.EndProcess(p, Now(), new(int))
				must(b, s.Sync())
			}
			put(s, in)
		},
		"write": func(b *testing.B, s *Store, noted bool) {
			in := create(b, s, "file", 0o644)
			p := int64(0)
			if noted {
				p = s.AddProcess(Process{PID: 8, Argv: []string{"dd"}, Started: Now()})
			}
			for range 1_000_000 {
				must(b, s.Update(func(tx *Tx) error {
					tx.By(p, false)
					return tx.WriteAt(in, content1k[:16], 0, Now())
				}))
			}
			put(s, in)
		},
	} {
		b.Run(name, func(b *testing.B) {
			var took [2]time.Duration
			var ratios, busy []float64
			dir, n := b.TempDir(), 0
			for b.Loop() {
				var now, cpu [2]time.Duration
				for i := range 2 {
					on := (i + n) % 2
					path := filepath.Join(dir, fmt.Sprint(n, i))
					s, err := Open(path, Options{Create: true, Root: rootAttr})
					must(b, err)
					must(b, s.BeginSession(7, []string{"sh"}))
					began, used := time.Now(), cpuTime(b)
					run(b, s, on == 1)
					must(b, s.Close())
					now[on], cpu[on] = time.Since(began), cpuTime(b)-used
					took[on] += now[on]
				}
				ratios = append(ratios, now[1].Seconds()/now[0].Seconds())
				busy = append(busy, cpu[1].Seconds()/cpu[0].Seconds())
				n++
			}
			slices.Sort(ratios)
			slices.Sort(busy)
			b.ReportMetric(ratios[len(ratios)/2], "with/without")
			b.ReportMetric(busy[len(busy)/2], "cpu-with/without")
			b.ReportMetric(float64(took[0].Milliseconds())/float64(n), "ms-without")
			b.ReportMetric(0, "ns/op")
		})
	}
}

var content1k = make([]byte, 1024)

// cpuTime is what the process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
