package main

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"
)

// Files in the tree consist of slots, each of which is zeros or says where it is and proves itself.
// A slot is written by one write(2), so whoever else writes, a slot is one writer's. It never lies
// across pages.
const (
	slotSize = 64
	maxSlots = 4096 // of a file: four chunks
)

// slot makes the content of one; the word tells it from others of the same place.
func slot(index int64, word uint64) []byte {
	s := fmt.Appendf(nil, "%-54s", fmt.Sprintf("slot %6d %016x", index, word))
	return fmt.Appendf(s, " %08x\n", crc32.ChecksumIEEE(s))
}

// checkSlots finds a slot that cannot be what anyone wrote at an offset of whole slots.
func checkSlots(data []byte) error {
	if len(data)%slotSize != 0 {
		return fmt.Errorf("%d bytes are no whole number of slots", len(data))
	}
	empty := make([]byte, slotSize)
	for i := 0; i < len(data); i += slotSize {
		s, index := data[i:i+slotSize], int64(i/slotSize)
		if bytes.Equal(s, empty) {
			continue
		}
		prefix := fmt.Appendf(nil, "slot %6d ", index)
		if !bytes.HasPrefix(s, prefix) || string(s[slotSize-10:]) != fmt.Sprintf(" %08x\n", crc32.ChecksumIEEE(s[:slotSize-10])) {
			return fmt.Errorf("slot %d holds %q", index, s)
		}
	}
	return nil
}

// writeSlots writes some slots of an open file: single ones, or a run of them.
func (w *worker) writeSlots(fd int) error {
	first, n := w.rng.Int64N(maxSlots-200), 1+w.rng.Int64N(3)
	if w.rng.IntN(4) == 0 {
		n = 1 + w.rng.Int64N(200)
	}
	for i := first; i < first+n; i++ {
		if m, err := unix.Pwrite(fd, slot(i, w.rng.Uint64()), i*slotSize); err != nil || m != slotSize {
			return fmt.Errorf("write of a slot: %d bytes, %v", m, err)
		}
	}
	return nil
}
