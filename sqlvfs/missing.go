package sqlvfs

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Missing is the error of a step that needs content which only a file's origin has: it is to end, [Store.Supply] is to
// be called, and the step is to be run again from its beginning. What the store holds itself [Store.Update] supplies
// in the same way, so a step that changes content must bear to be begun more than once.
type Missing struct {
	Inode *Inode

	index, part int64 // the chunk, and which part of it is missing; -1: all of it
	src         source
	buf         *chunk
	limit       int64 // of the origin
	version     uint64
}

func (m *Missing) Error() string {
	return fmt.Sprintf("content of inode %d is not in memory", m.Inode.Ino)
}

// Supply reads what a step has missed from base, which has the content of the file's origin, and puts it into memory.
// It must not be called in a step. The caller must refer to the inode. The errors are base's, [ErrNoBase] when it is nil,
// and [ErrBaseChanged] when it is shorter than the origin was.
func (s *Store) Supply(m *Missing, base io.ReaderAt) error {
	if err := s.fetch(m.Inode.Ino, run{m.src, m.index * s.chunkSize, m.buf.data}, base, m.limit); err != nil {
		return err
	}
	return s.View(func(tx *Tx) error {
		tx.supply(m)
		return nil
	})
}

// change runs a step that changes content as often as something is missing, which base supplies.
func (s *Store) change(base io.ReaderAt, step func(*Tx) error) error {
	for {
		err := s.Update(step)
		m, ok := errors.AsType[*Missing](err)
		if !ok {
			return err
		}
		if err := s.Supply(m, base); err != nil {
			return err
		}
	}
}

// complete sees to it that in memory is what a change of bytes [off, end) leaves partly as it was: the chunks at its
// edges, and the file's last one when the file is going to reach beyond it; with patches, only parts of chunks where that
// will do. The error is *Missing for the first that is not.
func (tx *Tx) complete(in *Inode, off, end int64, patches bool) error {
	if err := tx.refresh(in); err != nil {
		return err
	}
	err := tx.need(in, off/tx.chunkSize, off, end, patches)
	if err == nil && end > off {
		err = tx.need(in, (end-1)/tx.chunkSize, off, end, patches)
	}
	size := in.Attr.Size
	if last := size / tx.chunkSize; err == nil && size%tx.chunkSize != 0 && end > size && off/tx.chunkSize > last {
		err = tx.need(in, last, size, size+1, patches)
	}
	return err
}

// need is complete for one chunk.
func (tx *Tx) need(in *Inode, index, from, to int64, patches bool) error {
	start, stop := index*tx.chunkSize, min((index+1)*tx.chunkSize, in.Attr.Size)
	from, to = max(from, start), min(to, start+tx.chunkSize)
	if c := in.chunks[index]; c != nil && c.patch == nil || start >= stop || from <= start && to >= stop {
		return nil
	}
	if in.content != nil {
		c := tx.pool.get(len(in.content))
		copy(c.data, in.content)
		tx.install(in, index, c)
		return nil
	}
	part := int64(-1)
	if patches {
		if ok, err := tx.patchable(in, index, from, to); err != nil {
			return err
		} else if ok {
			if part = tx.missingPart(in, index, from, to); part < 0 {
				return nil
			}
		}
	}
	src, err := tx.source(in, index)
	if err != nil {
		return err
	}
	if src == fromNowhere {
		tx.writable(in, index, int(stop-start))
		return nil
	}
	m := &Missing{Inode: in, index: index, part: part, src: src, buf: tx.pool.get(int(stop - start)), version: in.version}
	if in.Origin != nil {
		m.limit = in.Origin.Limit
	}
	return m
}

// supply puts what was missing into memory. Not if someone else has written or cut the chunk meanwhile: then it is old.
func (tx *Tx) supply(m *Missing) {
	in, c := m.Inode, m.Inode.chunks[m.index]
	switch {
	case in.dead || in.version != m.version || c != nil && c.patch == nil:
		tx.pool.put(m.buf)
	case m.part >= 0:
		from := m.part * partSize
		tx.addPart(in, tx.ownPatch(in, m.index), m.part, slices.Clone(m.buf.data[from:min(from+partSize, int64(len(m.buf.data)))]))
		tx.pool.put(m.buf)
	default:
		if c != nil {
			c.applyTo(m.buf.data, 0)
			tx.discard(c)
		}
		tx.install(in, m.index, m.buf)
	}
}
