package sqlvfs

import (
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// Kind says what a stretch of a file is.
type Kind int

const (
	Hole    Kind = iota // nothing is kept of it: it reads as zeros
	Held                // the store has it
	Through             // the origin's content shows, which may have holes itself
)

// holesAtOnce is how many stored chunks one step looks at.
const holesAtOnce = 4096

// Stretch tells what is at an offset before the file's end, and returns an offset up to which that is so; behind
// that it may be so too.
func (tx *Tx) Stretch(in *Inode, off int64) (kind Kind, end int64, err error) {
	if err := tx.refresh(in); err != nil {
		return Hole, 0, err
	}
	size, limit := in.Attr.Size, int64(0)
	if in.Origin != nil {
		limit = in.Origin.Limit
	}
	if in.whole && limit == 0 {
		return Held, size, nil
	}
	index := off / tx.chunkSize
	held, horizon, err := tx.held(in, index)
	if err != nil {
		return Hole, 0, err
	}
	if len(held) > 0 && held[0] == index {
		for _, next := range held {
			if next > index {
				break
			}
			index++
		}
		return Held, min(index*tx.chunkSize, size), nil
	}
	if len(held) > 0 {
		horizon = held[0]
	}
	end = size
	if horizon <= size/tx.chunkSize {
		end = horizon * tx.chunkSize
	}
	if off < limit {
		return Through, min(end, limit), nil
	}
	return Hole, end, nil
}

// Blocks returns how many units of 512 bytes a regular file takes: what shows through from an origin counts as if the
// store had it.
func (tx *Tx) Blocks(in *Inode) (int64, error) {
	bytes := in.Attr.Size
	if !in.whole {
		bytes = 0
		for off := int64(0); off < in.Attr.Size; {
			kind, end, err := tx.Stretch(in, off)
			if err != nil {
				return 0, err
			}
			if kind != Hole {
				bytes += end - off
			}
			off = end
		}
		// A read-only store's inodes change without notice.
		in.whole = bytes == in.Attr.Size && !tx.readOnly
	}
	return (bytes + 511) / 512, nil
}

// held lists in order the chunks from one on of which the store has content, up to but not including horizon.
func (tx *Tx) held(in *Inode, from int64) (list []int64, horizon int64, err error) {
	horizon = tx.MaxSize() / tx.chunkSize
	switch {
	case in.tables&dataRows == 0:
	case in.Origin != nil && in.Origin.Limit > 0:
		if in.own == nil {
			if err := tx.loadOwn(in); err != nil {
				return nil, 0, err
			}
		}
		void := tx.voidFrom(in)
		for index := range in.own {
			if index >= from && index < void {
				list = append(list, index)
			}
		}
	default:
		err := tx.each("SELECT chunk_index FROM fs_data WHERE ino=? AND chunk_index>=? AND chunk_index<? ORDER BY chunk_index LIMIT ?",
			func(q *sqlite3.Stmt) { list = append(list, q.ColumnInt64(0)) }, in.Ino, from, tx.voidFrom(in), int64(holesAtOnce))
		if err != nil {
			return nil, 0, err
		}
		if n := len(list); n == holesAtOnce {
			horizon = max(list[n-1], from) + 1
		}
	}
	// What is not committed yet.
	list = slices.DeleteFunc(list, func(index int64) bool {
		// A damaged index finds rows that were not asked for.
		return in.chunks[index] != nil || index < from || index >= horizon
	})
	for index, c := range in.chunks {
		if index >= from && index < horizon && (c.patch != nil || len(c.data) > 0) {
			list = append(list, index)
		}
	}
	slices.Sort(list)
	return list, horizon, nil
}
