package sqlvfs

import (
	"math"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// When an inode was made is its access or its change time, whichever is earlier, unless art_birth says otherwise: what is made has
// all its times from that moment, a change moves only the one and a read only the other, and few programs set the access time to
// something earlier. So what is usually made needs no row.

const (
	unloadedBirth = 0 // of an inode that was not made in this session, and of which nobody has asked
	unknownBirth  = math.MinInt64
)

const (
	qPutBirth = `INSERT OR IGNORE INTO main.art_birth (ino, birth) VALUES (?,?)`
	// What an inode's row has implied so far, if it is to imply something else.
	qKeepBirth  = `INSERT OR IGNORE INTO main.art_birth (ino, birth) SELECT i.ino, ` + storedBirth + ` FROM fs_inode i WHERE i.ino=? AND ` + storedBirth + `<>?`
	storedBirth = `CAST(min(i.atime*1000000000+i.atime_nsec, i.ctime*1000000000+i.ctime_nsec) AS INTEGER)`
)

// impliedBirth is when an inode without a row in art_birth was made.
func impliedBirth(a *Attr) int64 { return min(a.Atime.Time().UnixNano(), a.Ctime.Time().UnixNano()) }

// firstBirth is when an inode with these attributes was made, if that is now.
func firstBirth(a *Attr) int64 {
	if a.Atime == a.Ctime {
		return impliedBirth(a)
	}
	return Now().Time().UnixNano() // its attributes are those of something older
}

// Birth returns when an inode was made; ok is false if that is not known. It stays as it is for as long as the inode is there.
func (tx *Tx) Birth(in *Inode) (t Timespec, ok bool, err error) {
	if err := tx.refresh(in); err != nil {
		return t, false, err
	}
	if in.born == unloadedBirth {
		born := impliedBirth(&in.Attr)
		err := tx.each(qBirth, func(q *sqlite3.Stmt) {
			if born = q.ColumnInt64(0); q.ColumnType(0) == sqlite3.NULL {
				born = unknownBirth
			}
		}, in.Ino)
		if err != nil {
			return t, false, err
		}
		in.born = born
	}
	if in.born == unknownBirth {
		return t, false, nil
	}
	at := time.Unix(0, in.born)
	return Timespec{Sec: at.Unix(), Nsec: int32(at.Nanosecond())}, true, nil
}

// SetBirth says when a new inode was made, in place of now; ok is false if that is not known.
func (tx *Tx) SetBirth(in *Inode, t Timespec, ok bool) {
	if in.born = unknownBirth; ok {
		in.born = t.Time().UnixNano()
	}
	tx.touch(in, dirtyRow)
}

// putBirth sees to it that the database says when an inode was made, before its row is written.
func (w *writer) putBirth(r *inodeRow) error {
	if err := w.own(database.KeptBirth, r.in.Ino); err != nil {
		return err
	}
	switch {
	case r.born == unloadedBirth:
		return w.exec(qKeepBirth, int64(r.in.Ino), impliedBirth(&r.attr))
	case r.born == impliedBirth(&r.attr):
		return nil
	case r.born == unknownBirth:
		return do(w.conn, qPutBirth, r.in.Ino, nil)
	}
	return w.exec(qPutBirth, int64(r.in.Ino), r.born)
}
