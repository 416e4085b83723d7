package sqlvfs

import (
	"bytes"
	"path/filepath"
	"testing"
)

func TestCommitted(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	size := 3*s.chunkSize + 5
	want := bytes.Repeat([]byte("0123456789abcdef"), int(size)/16+1)[:size]
	clear(want[s.chunkSize : 2*s.chunkSize]) // a hole
	in := create(t, s, "f", 0o100644)
	must(t, s.WriteAt(in, want[:s.chunkSize], 0, nil, Now()))
	must(t, s.WriteAt(in, want[2*s.chunkSize:], 2*s.chunkSize, nil, Now()))
	must(t, s.Sync())
	r, err := s.Committed()
	must(t, err)
	defer r.Close()
	for _, at := range [][2]int64{{0, size}, {0, 0}, {3, 7}, {s.chunkSize - 1, 2}, {s.chunkSize, s.chunkSize}, {2*s.chunkSize - 3, size - 2*s.chunkSize + 3}} {
		got := bytes.Repeat([]byte("?"), int(at[1]))
		if err := r.ReadAt(in.Ino, got, at[0]); err != nil || !bytes.Equal(got, want[at[0]:at[0]+at[1]]) {
			t.Errorf("%d bytes at %d: %v, or other content", at[1], at[0], err)
		}
	}
	for from, next := range map[int64]int64{0: 0, 7: 7, s.chunkSize: 2 * s.chunkSize, s.chunkSize + 3: 2 * s.chunkSize, 2*s.chunkSize + 3: 2*s.chunkSize + 3, size - 1: size - 1} {
		if got, err := r.Next(in.Ino, from, size); err != nil || got != next {
			t.Errorf("behind %d comes %d, %v; want %d", from, got, err, next)
		}
	}
	if got, err := r.Next(in.Ino, size, 10*size); err != nil || got != size {
		t.Errorf("in the last chunk comes %d, %v", got, err)
	}
	if got, err := r.Next(in.Ino, size+s.chunkSize, 10*size); err != nil || got != 10*size {
		t.Errorf("behind the last chunk comes %d, %v", got, err)
	}
	got := []byte("???")
	if err := r.ReadAt(in.Ino, got, size+s.chunkSize); err != nil || !bytes.Equal(got, make([]byte, 3)) {
		t.Errorf("behind the end: %q, %v", got, err)
	}
	must(t, s.WriteAt(in, []byte("later"), 0, nil, Now()))
	must(t, s.Sync())
	got = got[:3]
	if err := r.ReadAt(in.Ino, got, 0); err != nil || !bytes.Equal(got, want[:3]) {
		t.Errorf("after another commit: %q, %v", got, err)
	}
}
