package main

import (
	"bytes"
	"fmt"
)

// blockSize is how finely an image is sparse, in bytes.
const blockSize = 4096

// image is what a file should hold: a sparse copy in memory. What has no block is zeros.
type image struct {
	Size   int64
	Blocks map[int64][]byte
}

// readAt fills p with what should be at an offset; beyond the end with zeros.
func (m *image) readAt(p []byte, off int64) {
	m.each(off, int64(len(p)), func(index, skip, done, n int64) {
		if b := m.Blocks[index]; b != nil {
			copy(p[done:done+n], b[skip:])
		} else {
			clear(p[done : done+n])
		}
	})
}

// writeAt replaces content, and lets the image grow.
func (m *image) writeAt(p []byte, off int64) {
	m.each(off, int64(len(p)), func(index, skip, done, n int64) {
		b := m.Blocks[index]
		if b == nil {
			b = make([]byte, blockSize)
			m.Blocks[index] = b
		}
		copy(b[skip:], p[done:done+n])
	})
	m.Size = max(m.Size, off+int64(len(p)))
}

// zero clears a range. The size stays.
func (m *image) zero(off, length int64) {
	m.each(off, length, func(index, skip, _, n int64) {
		if b := m.Blocks[index]; b != nil {
			clear(b[skip : skip+n])
		}
	})
}

func (m *image) truncate(size int64) {
	for index, b := range m.Blocks {
		switch start := index * blockSize; {
		case start >= size:
			delete(m.Blocks, index)
		case start+blockSize > size:
			clear(b[size-start:])
		}
	}
	m.Size = size
}

// each passes the pieces of a range that lie in one block: which, where in it, how far into the
// range, and how long.
func (m *image) each(off, length int64, do func(index, skip, done, n int64)) {
	for done := int64(0); done < length; {
		skip := (off + done) % blockSize
		n := min(blockSize-skip, length-done)
		do((off+done)/blockSize, skip, done, n)
		done += n
	}
}

// compare tells where what was read at an offset differs first from what should be there.
func (m *image) compare(got []byte, off int64) error {
	want := make([]byte, len(got))
	m.readAt(want, off)
	if bytes.Equal(got, want) {
		return nil
	}
	first, differ := -1, 0
	for i := range got {
		if got[i] != want[i] {
			differ++
			if first < 0 {
				first = i
			}
		}
	}
	return fmt.Errorf("content differs first at byte %d (%#x): got %#02x, want %#02x; %d of the %d bytes from %d on differ",
		off+int64(first), off+int64(first), got[first], want[first], differ, len(got), off)
}
