package fs

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fallocate(2) through a mount, on files of the base and of the delta, before and after a remount.
func TestAllocate(t *testing.T) {
	m := newMounted(t)
	for _, where := range []string{"base", "delta"} {
		t.Run(where, func(t *testing.T) {
			want := bytes.Clone(noise[:300_000])
			if where == "base" {
				m.plant(t, where, want)
			} else {
				m.must(t, os.WriteFile(m.at("ws/"+where), want, 0o644))
			}
			f, err := os.OpenFile(m.at("ws/"+where), os.O_RDWR, 0)
			m.must(t, err)
			defer f.Close()
			fd := int(f.Fd())
			const punch, zero, keep = unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_ZERO_RANGE, unix.FALLOC_FL_KEEP_SIZE
			m.must(t, unix.Fallocate(fd, punch|keep, 10, 5))
			clear(want[10:15])
			m.must(t, unix.Fallocate(fd, punch|keep, 60_000, 150_000)) // whole chunks in the middle
			clear(want[60_000:210_000])
			m.reads(t, "ws/"+where, want)
			m.must(t, unix.Fallocate(fd, zero|keep, 290_000, 50_000)) // across the end, which stays
			clear(want[290_000:])
			m.reads(t, "ws/"+where, want)
			m.must(t, unix.Fallocate(fd, zero, 310_000, 1_000)) // behind it
			want = append(want, make([]byte, 11_000)...)
			m.reads(t, "ws/"+where, want)
			m.must(t, unix.Fallocate(fd, 0, 0, 320_000))
			want = append(want, make([]byte, 9_000)...)
			m.must(t, unix.Fallocate(fd, keep, 0, 1<<20))
			_, err = f.WriteAt([]byte("in the hole"), 100_000)
			m.must(t, err)
			copy(want[100_000:], "in the hole")
			m.reads(t, "ws/"+where, want)
			if err := unix.Fallocate(fd, 0, 0, 1<<60); err != syscall.ENOSPC {
				t.Errorf("more than the disk has: %v", err)
			}
			if err := unix.Fallocate(fd, unix.FALLOC_FL_COLLAPSE_RANGE, 0, 4096); err != syscall.EOPNOTSUPP {
				t.Errorf("collapse: %v", err)
			}
			m.must(t, f.Close())
			m.remount(t)
			m.reads(t, "ws/"+where, want)
		})
	}
}
