package control

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is a queue of messages in memory that two processes share, so that neither makes a system call for one. One process puts, and the
// other takes, each with one goroutine at a time. What one of them does wrong makes the other lose messages, or get wrong ones, and
// nothing worse.
type Ring struct {
	counts *ringCounts
	data   []byte
}

// ringCounts are how many bytes have ever been put and taken.
type ringCounts struct{ put, taken atomic.Uint64 }

const (
	ringBegin  = 4 << 10   // where the messages begin in the file, in bytes: a page of the counts' own
	ringSize   = 256 << 10 // bytes of messages that there can be at once, with their lengths; a power of 2
	ringLength = 4         // bytes of a message's length
)

// MapRing maps the ring in a file in memory, and closes that. The ring is there until the process ends.
func MapRing(f *os.File) (*Ring, error) {
	defer f.Close()
	if err := f.Truncate(ringBegin + ringSize); err != nil {
		return nil, fmt.Errorf("share messages: %w", err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, ringBegin+ringSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("share messages: %w", err)
	}
	return &Ring{(*ringCounts)(unsafe.Pointer(&b[0])), b[ringBegin:]}, nil
}

// Put puts a message, and returns false if there is no room. filled says that half of the room is taken, or more.
func (r *Ring) Put(message []byte) (ok, filled bool) {
	put := r.counts.put.Load()
	used, size := put-r.counts.taken.Load(), uint64(ringLength+len(message))
	if used > ringSize || size > ringSize-used {
		return false, true
	}
	var length [ringLength]byte
	binary.NativeEndian.PutUint32(length[:], uint32(len(message)))
	r.copyIn(put, length[:])
	r.copyIn(put+ringLength, message)
	r.counts.put.Store(put + size)
	return true, used+size > ringSize/2
}

func (r *Ring) copyIn(at uint64, b []byte) {
	n := copy(r.data[at%ringSize:], b)
	copy(r.data, b[n:])
}

// Take takes the next message into buf, and returns false if there is none. One that is longer is cut.
func (r *Ring) Take(buf []byte) (n int, ok bool) {
	taken := r.counts.taken.Load()
	used := r.counts.put.Load() - taken
	if used == 0 {
		return 0, false
	}
	var length [ringLength]byte
	r.copyOut(taken, length[:])
	size := uint64(binary.NativeEndian.Uint32(length[:]))
	if used > ringSize || used < ringLength || size > used-ringLength { // not by Put: all that is there is none
		r.counts.taken.Store(taken + used)
		return 0, false
	}
	n = int(min(size, uint64(len(buf))))
	r.copyOut(taken+ringLength, buf[:n])
	r.counts.taken.Store(taken + ringLength + size)
	return n, true
}

func (r *Ring) copyOut(at uint64, b []byte) {
	n := copy(b, r.data[at%ringSize:])
	copy(b[n:], r.data)
}
