package fs

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// What art-fuse holds of what the kernel holds, in bytes of the heap for each inode, once all is
// committed: of files, of links with long targets, of files with an attribute.
func BenchmarkHeld(b *testing.B) {
	long, value := strings.Repeat("x", 4000), make([]byte, 4000)
	for name, create := range map[string]func(s *inProcess, i int) (Entry, error){
		"file": func(s *inProcess, i int) (Entry, error) {
			return s.overlay.Mknod(Caller{}, RootIno, fmt.Sprint(i), syscall.S_IFREG|0o644, 0)
		},
		"directory": func(s *inProcess, i int) (Entry, error) {
			return s.overlay.Mkdir(Caller{}, RootIno, fmt.Sprint(i), 0o755)
		},
		"link": func(s *inProcess, i int) (Entry, error) {
			return s.overlay.Symlink(Caller{}, RootIno, fmt.Sprint(i), long+fmt.Sprint(i))
		},
		"attribute": func(s *inProcess, i int) (Entry, error) {
			e, err := s.overlay.Mknod(Caller{}, RootIno, fmt.Sprint(i), syscall.S_IFREG|0o644, 0)
			if err == nil {
				err = s.overlay.Setxattr(Caller{}, e.Ino, "user.a", value, 0)
			}
			return e, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			const inodes = 20_000
			for b.Loop() {
				s := &inProcess{db: b.TempDir() + "/a.db"}
				s.beginOver(b, "")
				before := heap()
				for i := range inodes {
					if _, err := create(s, i); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.store.Sync(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(heap()-before)/inodes, "B/inode")
				s.end()
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
