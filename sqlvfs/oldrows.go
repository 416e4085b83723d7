package sqlvfs

import (
	"errors"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// history reads what rows were at all checkpoints, and writes what they were. It has the writer, in one transaction after the other.
type history struct {
	w      *writer
	points []Checkpoint // the oldest first
	first  Ino          // the first number that an inode of it gets; the next ones are lower
	free   Ino          // the next
	bytes  int          // of content, and rows, in this transaction
	rows   int
}

const (
	// copyBytes and copyRows are how much is written at a time, before others may write.
	copyBytes = 8 << 20
	copyRows  = 4 << 10
	// copyInodes is how many numbers there are for copies of one database. A fork has others than its parent.
	copyInodes = 1 << 48
)

// beginHistory begins the first transaction. all are all checkpoints, the newest first.
func (w *writer) beginHistory(all []Checkpoint) (*history, error) {
	h := &history{w: w, points: slices.Clone(all)}
	slices.Reverse(h.points)
	if err := h.begin(); err != nil {
		return nil, err
	}
	last := -Ino(len(w.store.stack.Parents)) * copyInodes
	for _, table := range []string{"fs_inode", "art_old_inode"} {
		n, err := queryNumber(w.conn, "SELECT ifnull(min(ino), 0) FROM main."+table+" WHERE ino<?1 AND ino>?1-?2", last, int64(copyInodes))
		if err != nil {
			h.end(&err)
			return nil, err
		}
		if n != 0 {
			h.first = min(h.first, Ino(n))
		}
	}
	h.first = min(h.first, last) - 1
	h.free = h.first
	return h, nil
}

func (h *history) begin() error {
	err := h.w.bound()
	if err == nil {
		err = h.w.Exec("BEGIN IMMEDIATE")
	}
	h.w.wrote, h.bytes, h.rows = true, 0, 0
	return err
}

// end ends the last transaction, which comes to nothing with an error.
func (h *history) end(err *error) {
	if h.w.conn == nil {
		return
	}
	database.End(h.w.Conn, err)
	if *err == nil {
		h.w.checkpoint()
	} else {
		clear(h.w.bases)
		clear(h.w.trees)
	}
}

// pause lets others write, if enough was written. All that is there makes sense.
func (h *history) pause(err error) error {
	// Where room is short, so is the log: a checkpoint must not give way to what would fit by and by.
	if err != nil || h.bytes < min(copyBytes, h.w.logLimit()) && h.rows < copyRows {
		return err
	}
	if h.end(&err); err != nil {
		return err
	}
	s := h.w.store
	s.mu.Lock()
	s.releaseWriter()
	s.acquireWriter()
	s.mu.Unlock()
	if err := h.w.connect(); err != nil {
		return err
	}
	if err := h.begin(); err != nil {
		return err
	}
	all, err := checkpointsOf(h.w.conn)
	if err == nil && len(all) != len(h.points) {
		err = errDropped
	}
	return err
}

// errDropped says that others have dropped checkpoints meanwhile, for want of room.
var errDropped = errors.New("checkpoints were dropped")

// next is the number of a new inode.
func (h *history) next() Ino {
	h.free--
	return h.free + 1
}

// fresh tells whether an inode has come with what is being written.
func (h *history) fresh(ino Ino) bool { return ino <= h.first && ino > h.free }

// put has the row of a key be one with these values at some checkpoints, and at no other.
func (h *history) put(k *database.Kept, s span, row ...any) error {
	h.rows++
	key := row[:len(k.Key)]
	ino := key[0].(Ino)
	if !h.fresh(ino) {
		if err := h.clear(k, s, ino, key); err != nil {
			return err
		}
	}
	return do(h.w.conn, k.PutOld, slices.Concat(key, []any{h.points[s.hi].ID, int64(1)}, row[len(k.Key):])...)
}

// none has there be no row of a key at some checkpoints.
func (h *history) none(k *database.Kept, s span, ino Ino) error {
	h.rows++
	if h.fresh(ino) {
		return do(h.w.conn, "DELETE FROM main."+k.Old+" WHERE "+k.Key[0]+"=?", ino)
	}
	if err := h.clear(k, s, ino, []any{ino}); err != nil {
		return err
	}
	return do(h.w.conn, "INSERT OR REPLACE INTO main."+k.Old+" ("+k.Key[0]+", checkpoint, there) VALUES (?,?,0)", ino, h.points[s.hi].ID)
}

// clear takes away what history has of a key at some checkpoints. The one before these has it by itself then.
func (h *history) clear(k *database.Kept, s span, ino Ino, key []any) error {
	if s.lo > 0 && ino <= h.points[s.lo-1].maxIno {
		id := h.points[s.lo-1].ID
		for _, q := range k.Pin {
			if err := do(h.w.conn, q, slices.Concat([]any{id}, key)...); err != nil {
				return err
			}
		}
	}
	if s.lo == s.hi {
		return nil
	}
	return do(h.w.conn, k.DropOld, slices.Concat([]any{h.points[s.lo].ID, h.points[s.hi].ID}, key)...)
}

// putInode has an inode that is new be there at some checkpoints, also once more, with other attributes.
func (h *history) putInode(ino Ino, s span, o *HostObject) error {
	if s.lo > 0 {
		if err := do(h.w.conn, "INSERT OR IGNORE INTO main.art_old_inode (ino, checkpoint, there) VALUES (?,?,0)", ino, h.points[s.lo-1].ID); err != nil {
			return err
		}
	}
	err := h.putAttr(ino, s, &o.Attr)
	for _, name := range sortedKeys(o.Xattrs, strings.Compare) {
		if err == nil {
			err = h.put(database.KeptXattr, s, ino, name, o.Xattrs[name])
		}
	}
	return err
}

func (h *history) putAttr(ino Ino, s span, a *Attr) error {
	return h.put(database.KeptInode, s, ino, a.Mode, a.Nlink, a.UID, a.GID, a.Size, a.Atime.Sec, a.Mtime.Sec, a.Ctime.Sec, a.Rdev,
		int64(a.Atime.Nsec), int64(a.Mtime.Nsec), int64(a.Ctime.Nsec))
}

// putOrigin has an inode that is new have an origin, whose number it shows.
func (h *history) putOrigin(ino Ino, s span, o *oldOrigin, number uint64) error {
	if err := h.put(database.KeptNumber, s, ino, number); err != nil {
		return err
	}
	return h.putOriginRow(ino, s, o)
}

func (h *history) putOriginRow(ino Ino, s span, o *oldOrigin) error {
	return h.put(database.KeptOrigin, s, ino, o.base, []byte(o.path), int64(o.Dev), int64(o.Ino), o.Size, o.Mtime.Sec, int64(o.Mtime.Nsec), o.Ctime.Sec, int64(o.Ctime.Nsec),
		o.limit, o.mode, o.hash, int64(0))
}

// cutOrigin has an inode have no origin at some checkpoints.
func (h *history) cutOrigin(ino Ino, s span) error {
	if err := h.none(database.KeptNumber, s, ino); err != nil {
		return err
	}
	return h.none(database.KeptOrigin, s, ino)
}

// inodes returns attributes. Those of no inode's are nil, too.
func (h *history) inodes(ino Ino) ([]*Attr, error) {
	const columns = "mode, nlink, uid, gid, rdev, size, atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec"
	return rowsOf(h, database.KeptInode, columns, func(q *sqlite3.Stmt, c int) Attr { return rawAttr(q, c) }, ino)
}

// oldOrigin is a row of an origin.
type oldOrigin struct {
	base int64
	path string
	Fingerprint
	limit int64
	mode  uint32
	hash  []byte
}

func (o *oldOrigin) equal(other *oldOrigin) bool {
	return o.base == other.base && o.path == other.path && o.Fingerprint == other.Fingerprint && o.limit == other.limit
}

func (h *history) origins(ino Ino) ([]*oldOrigin, error) {
	return rowsOf(h, database.KeptOrigin, "base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit, base_mode, hash", func(q *sqlite3.Stmt, c int) oldOrigin {
		o := oldOrigin{q.ColumnInt64(c), string(q.ColumnRawBlob(c + 1)), scanFingerprint(q, c+2), q.ColumnInt64(c + 9), uint32(q.ColumnInt64(c + 10)), nil}
		if hash := scanHash(q, c+11); hash != "" {
			o.hash = []byte(hash)
		}
		return o
	}, ino)
}

func (h *history) entries(dir Ino, name string) ([]*Ino, error) {
	list, err := rowsOf(h, database.KeptDentry, "ino", func(q *sqlite3.Stmt, c int) Ino { return Ino(q.ColumnInt64(c)) }, dir, name)
	for i, ino := range list {
		if ino != nil && *ino > h.points[i].maxIno {
			list[i] = nil
		}
	}
	return list, err
}

func (h *history) whiteouts(dir Ino, name string) ([]*bool, error) {
	return rowsOf(h, database.KeptWhiteout, "1", func(*sqlite3.Stmt, int) bool { return true }, dir, name)
}

// rowsOf returns what the row of a key was at each checkpoint; nil: there was none.
func rowsOf[T any](h *history, k *database.Kept, columns string, scan func(q *sqlite3.Stmt, column int) T, key ...any) ([]*T, error) {
	all := make([]*T, len(h.points))
	where := " WHERE " + strings.Join(k.Key, "=? AND ") + "=?"
	q := bind(h.w.Prep("SELECT checkpoint, there, "+columns+" FROM main."+k.Old+where+" ORDER BY checkpoint"), key...)
	i := 0
	until := func(id int64, v *T) {
		for ; i < len(h.points) && h.points[i].ID <= id; i++ {
			all[i] = v
		}
	}
	for h.w.Step(q) {
		var v *T
		if q.ColumnInt64(1) == 1 {
			row := scan(q, 2)
			v = &row
		}
		until(q.ColumnInt64(0), v)
	}
	if err := h.w.Done(q); err != nil {
		return nil, err
	}
	if i < len(h.points) {
		var v *T
		q := bind(h.w.Prep("SELECT "+columns+" FROM "+k.Table+where), key...)
		if h.w.Step(q) {
			row := scan(q, 0)
			v = &row
		}
		if err := h.w.Done(q); err != nil {
			return nil, err
		}
		until(maxCheckpoint, v)
	}
	for i := range all {
		if key[0].(Ino) > h.points[i].maxIno {
			all[i] = nil
		}
	}
	return all, nil
}

// oldChunks are the chunks of a file that history has, or that are there now.
type oldChunks struct {
	h     *history
	there map[int64]bool       // now
	old   map[int64][]oldChunk // by index, the oldest first
}

type oldChunk struct {
	checkpoint int64
	there      bool
}

func (h *history) chunks(ino Ino) (*oldChunks, error) {
	c := &oldChunks{h, map[int64]bool{}, map[int64][]oldChunk{}}
	q := bind(h.w.Prep("SELECT chunk_index, checkpoint, there FROM main.art_old_data WHERE ino=? ORDER BY chunk_index, checkpoint"), ino)
	for h.w.Step(q) {
		c.old[q.ColumnInt64(0)] = append(c.old[q.ColumnInt64(0)], oldChunk{q.ColumnInt64(1), q.ColumnInt64(2) == 1})
	}
	if err := h.w.Done(q); err != nil {
		return nil, err
	}
	q = bind(h.w.Prep("SELECT chunk_index FROM fs_data WHERE ino=?"), ino)
	for h.w.Step(q) {
		c.there[q.ColumnInt64(0)] = true
	}
	return c, h.w.Done(q)
}

// none tells whether the file holds no chunk at some checkpoints.
func (c *oldChunks) none(s span) bool {
	for i := range c.old {
		if !c.lacks(i, s) {
			return false
		}
	}
	for i := range c.there {
		if !c.lacks(i, s) {
			return false
		}
	}
	return true
}

func (c *oldChunks) lacks(index int64, s span) bool {
	free := c.missing(index, s)
	return len(free) == 1 && free[0] == s
}

// missing are the ranges of some checkpoints at which the file does not hold a chunk.
func (c *oldChunks) missing(index int64, s span) []span {
	old, now := c.old[index], c.there[index]
	if len(old) == 0 {
		if now {
			return nil
		}
		return []span{s}
	}
	lacks := make([]bool, s.hi+1)
	for i := s.lo; i <= s.hi; i++ {
		has := now
		if j := slices.IndexFunc(old, func(o oldChunk) bool { return o.checkpoint >= c.h.points[i].ID }); j >= 0 {
			has = old[j].there
		}
		lacks[i] = !has
	}
	return spans(lacks)
}
