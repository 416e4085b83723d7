package git

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
)

// packIndex looks objects up in a pack's index (gitformat-pack(5)). It holds no more of it than what it looked at
// last: that of a large repository has hundreds of megabytes, and one of the guest's may have any size without
// taking any room.
type packIndex struct {
	file   File
	blocks *blocks
	fanout [256]uint32
	old    bool  // version 1: each name has its offset before it
	names  int64 // where they begin
	stride int64
}

const (
	blockNames = 512  // names that are read at once
	maxBlocks  = 4096 // which are 40 MB
)

// blocks are the parts of indexes that were looked at last.
type blocks struct{ data map[blockAt][]byte }

type blockAt struct {
	of *packIndex
	n  int64
}

// openIndex takes over a file.
func openIndex(f File, b *blocks) (*packIndex, error) {
	x := &packIndex{file: f, blocks: b, names: 8 + 1024, stride: sha1.Size}
	var head [8 + 1024]byte
	if n, err := f.ReadAt(head[:], 0); n < len(head) {
		f.Close()
		return nil, damagedAt(err)
	}
	fan := head[8:]
	if string(head[:8]) != "\xfftOc\x00\x00\x00\x02" {
		fan, x.old, x.names, x.stride = head[:1024], true, 1024, 4+sha1.Size
	}
	last := uint32(0)
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(fan[4*i:])
		if x.fanout[i] < last {
			f.Close()
			return nil, errDamaged
		}
		last = x.fanout[i]
	}
	if x.names+int64(last)*x.stride > f.Size() {
		f.Close()
		return nil, errDamaged
	}
	return x, nil
}

// damagedAt says what the end of a file means that should go on.
func damagedAt(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errDamaged
	}
	return err
}

// count is how many objects there are.
func (x *packIndex) count() int64 { return int64(x.fanout[255]) }

// name returns the name of an object, by its number.
func (x *packIndex) name(i int64) ([]byte, error) {
	at := blockAt{x, i / blockNames}
	b, ok := x.blocks.data[at]
	if !ok {
		from := at.n * blockNames
		b = make([]byte, min(blockNames, x.count()-from)*x.stride)
		if n, err := x.file.ReadAt(b, x.names+from*x.stride); n < len(b) {
			return nil, damagedAt(err)
		}
		if len(x.blocks.data) >= maxBlocks {
			clear(x.blocks.data)
		}
		x.blocks.data[at] = b
	}
	end := (i%blockNames + 1) * x.stride
	return b[end-sha1.Size : end], nil
}

// number returns the number of an object, if the pack holds it.
func (x *packIndex) number(id ID) (n int64, ok bool, err error) {
	low, high := int64(0), int64(x.fanout[id[0]])
	if id[0] > 0 {
		low = int64(x.fanout[id[0]-1])
	}
	for low < high {
		mid := (low + high) / 2
		name, err := x.name(mid)
		if err != nil {
			return 0, false, err
		}
		switch bytes.Compare(name, id[:]) {
		case 0:
			return mid, true, nil
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false, nil
}

// has reports whether the pack holds an object.
func (x *packIndex) has(id ID) (bool, error) {
	_, ok, err := x.number(id)
	return ok, err
}

// find returns where in the pack an object is, if it is there.
func (x *packIndex) find(id ID) (offset int64, ok bool, err error) {
	i, ok, err := x.number(id)
	if !ok || err != nil {
		return 0, false, err
	}
	var b [8]byte
	if x.old {
		_, err = io.ReadFull(io.NewSectionReader(x.file, x.names+i*x.stride, 4), b[:4])
		return int64(binary.BigEndian.Uint32(b[:])), err == nil, err
	}
	// After the names there are checksums, then offsets, and then those that take more than 31 bits.
	offsets := x.names + x.count()*(sha1.Size+4)
	if _, err = io.ReadFull(io.NewSectionReader(x.file, offsets+4*i, 4), b[:4]); err != nil {
		return 0, false, errDamaged
	}
	small := binary.BigEndian.Uint32(b[:])
	if small>>31 == 0 {
		return int64(small), true, nil
	}
	if _, err = io.ReadFull(io.NewSectionReader(x.file, offsets+4*x.count()+8*int64(small&(1<<31-1)), 8), b[:]); err != nil {
		return 0, false, errDamaged
	}
	return int64(binary.BigEndian.Uint64(b[:])), true, nil
}
