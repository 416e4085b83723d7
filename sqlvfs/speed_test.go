package sqlvfs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// What a large file costs that is written from its beginning to its end, and stays: in memory, in the log, and in
// the database.
func BenchmarkLargeWrite(b *testing.B) {
	const size = 1 << 30
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * i >> 3)
	}
	b.SetBytes(size)
	for range b.N {
		b.StopTimer()
		s := openTest(b, filepath.Join(b.TempDir(), "a.db"))
		in := create(b, s, "big", syscall.S_IFREG|0o600)
		b.StartTimer()
		for off := int64(0); off < size; off += int64(len(block)) {
			block[0]++
			must(b, s.WriteAt(in, block, off, nil, Now()))
		}
		b.StopTimer()
		put(s, in)
		must(b, s.Close())
	}
}
