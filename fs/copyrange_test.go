package fs

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// copy_file_range(2) through a mount, from files of the base and of the delta, before and after a remount.
func TestCopyRange(t *testing.T) {
	m := newMounted(t)
	for _, where := range []string{"base", "delta"} {
		t.Run(where, func(t *testing.T) {
			want := bytes.Clone(noise[:900_001])
			path, copied := "ws/"+where, "ws/copy of "+where
			if where == "base" {
				m.plant(t, where, want)
			} else {
				m.must(t, os.WriteFile(m.at(path), want, 0o644))
			}
			from, err := os.Open(m.at(path))
			m.must(t, err)
			to, err := os.OpenFile(m.at(copied), os.O_CREATE|os.O_RDWR, 0o644)
			m.must(t, err)
			copyRange := func(from, to *os.File, off, at int64, n int, wantN int, wantErr error) {
				t.Helper()
				got, err := unix.CopyFileRange(int(from.Fd()), &off, int(to.Fd()), &at, n, 0)
				if wantErr != nil && err != wantErr || wantErr == nil && (err != nil || got != wantN) {
					t.Errorf("copy %d bytes at %d to %d: %d, %v; want %d, %v", n, off, at, got, err, wantN, wantErr)
				}
			}
			copyRange(from, to, 0, 0, 1<<20, 900_001, nil)
			m.reads(t, copied, want)
			copyRange(from, to, 900_001, 0, 10, 0, nil) // behind the end
			copyRange(from, to, 10, 65_530, 70_000, 70_000, nil)
			copy(want[65_530:], noise[10:70_010])
			copyRange(to, to, 5, 1_000_000, 100_000, 100_000, nil) // within a file, and beyond its end
			want = append(want, make([]byte, 1_000_000-len(want))...)
			want = append(want, want[5:100_005]...)
			copyRange(to, to, 5, 10, 100, 0, syscall.EINVAL) // over itself
			m.reads(t, copied, want)
			m.reads(t, path, noise[:900_001])
			m.must(t, from.Close())
			m.must(t, to.Close())
			m.remount(t)
			m.reads(t, copied, want)
		})
	}
}

// A copy takes what made a file run with more rights, and is refused as a write is.
func TestCopyRangeIsAWrite(t *testing.T) {
	s := newSession(t)
	s.plant("from", noise[:200_000])
	s.write("ws/to", []byte("x"), 0)
	from, to := s.stat("ws/from").Ino, s.stat("ws/to").Ino
	mode := uint32(0o4755)
	_, err := s.overlay.Setattr(Caller{}, to, SetAttr{Mode: &mode})
	s.must(err)
	n, err := s.overlay.CopyRange(Caller{UID: 1, GID: 1}, from, 0, to, 0, 1<<40)
	if n != 200_000 || err != nil {
		t.Errorf("copied %d bytes: %v", n, err)
	}
	if got := s.stat("ws/to").Attr.Mode & 0o7777; got != 0o755 {
		t.Errorf("mode %#o", got)
	}
	s.reads("ws/to", noise[:200_000])
	for _, at := range [][3]int64{{-1, 0, 1}, {0, -1, 1}, {0, 0, -1}, {1, 0, 1<<63 - 1}, {0, 1<<63 - 1, 1}} {
		if _, err := s.overlay.CopyRange(Caller{}, from, at[0], to, at[1], at[2]); err == nil {
			t.Errorf("copied %d bytes from %d to %d", at[2], at[0], at[1])
		}
	}
	dir := s.stat("ws").Ino
	if _, err := s.overlay.CopyRange(Caller{}, from, 0, dir, 0, 1); err == nil {
		t.Error("copied into a directory")
	}
}
