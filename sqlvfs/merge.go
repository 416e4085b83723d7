package sqlvfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A merge takes into a database what a fork of it has changed. Who decides about that changes the tree in one step; content of files goes
// from the one database to the other with the transaction of that step, a chunk at a time, and only where it differs. What of the fork was
// merged is remembered as what both have agreed on: it goes back with the tree.

// Merge runs a step that takes over what a fork has, with [Tx.TakeContent] and otherwise. All of it is one transaction, durable when Merge
// returns. After an error nothing has changed, and the Store can only be closed.
func (s *Store) Merge(step func(*Tx) error) error {
	unlock, err := s.lockWriter()
	if err != nil {
		return err
	}
	defer unlock()
	tx := &s.tx
	if err := s.commitGathered(); err != nil {
		return err
	}
	journal, err := tx.Journal()
	if err == nil && len(journal) > 0 {
		err = ErrJournal
	}
	if err == nil {
		tx.begin()
		tx.gather.merges, tx.gather.sync = true, true
		err = tx.run(step)
	}
	if err == nil {
		// For want of room no history is dropped, as it is for a session's changes: it is what takes the merge back.
		err = s.finishCommit(tx.take(), func(b *batch) error {
			if err := s.writer.connect(); err != nil {
				return err
			}
			if err := s.writer.attempt(b, 0); err != nil {
				return err
			}
			return s.writer.afterCommit(b)
		})
	}
	if err != nil {
		tx.gather = newBatch(tx.gather.seq + 1)
	}
	return err
}

// fill is a file whose content is to be that of one of a fork.
type fill struct {
	in   *Inode
	of   *Moment
	from Ino
}

// TakeContent, in a step of [Store.Merge], has a regular file have the content of one of the fork at a moment, and with it its size and the
// time when it was written.
func (tx *Tx) TakeContent(in *Inode, of *Moment, n *Node) error {
	if !tx.changing || !tx.gather.merges {
		return errViewing
	}
	if n.Attr.Size > tx.MaxSize() {
		return fmt.Errorf("%w: inode %d of the fork has %d bytes", ErrCorrupt, n.Ino, n.Attr.Size)
	}
	o := n.Origin
	switch {
	case o != nil:
		now := *o
		if now.Number = in.Number(); now.Limit == 0 && in.Origin == nil {
			break // nothing of it shows
		}
		tx.SetOrigin(in, &now)
	case in.Origin != nil: // which has the number that programs know it by
		now := *in.Origin
		now.Limit = 0
		tx.SetOrigin(in, &now)
	}
	in.Attr.Size, in.Attr.Mtime = n.Attr.Size, n.Attr.Mtime
	in.renew()
	in.hold().own, in.whole = nil, false
	in.tables |= dataRows
	tx.touch(in, dirtyRow)
	tx.gather.fills = append(tx.gather.fills, fill{in, of, n.Ino})
	return nil
}

// putFills copies content from a fork.
func (w *writer) putFills(b *batch) error {
	for _, f := range b.fills {
		if err := w.putFill(&f); err != nil {
			return fmt.Errorf("copy the content of inode %d: %w", f.from, err)
		}
	}
	return nil
}

func (w *writer) putFill(f *fill) error {
	ino, last := f.in.Ino, w.store.MaxSize()/w.store.chunkSize
	stale := map[int64]bool{}
	q := bind(w.Prep("SELECT chunk_index FROM fs_data WHERE ino=?"), ino)
	for w.Step(q) {
		stale[q.ColumnInt64(0)] = true
	}
	if err := w.Done(q); err != nil {
		return err
	}
	var bad error
	err := f.of.s.tx.each(qContent, func(q *sqlite3.Stmt) {
		index, data := q.ColumnInt64(0), q.ColumnRawBlob(1)
		if bad != nil || index < 0 || index >= last || int64(len(data)) > w.store.chunkSize {
			return // as when it is read
		}
		there := stale[index]
		delete(stale, index)
		if bad = w.putFilled(ino, index, data, there); bad != nil {
			return
		}
	}, f.from)
	if err == nil {
		err = bad
	}
	for index := range stale {
		if err == nil {
			err = w.keepPut(database.KeptData, ino, index)
		}
		if err == nil {
			err = w.dropRow(database.KeptData, ino, index)
		}
	}
	return err
}

// putFilled writes a chunk, unless there is one that is the same.
func (w *writer) putFilled(ino Ino, index int64, data []byte, there bool) error {
	if there {
		same := false
		q := bind(w.Prep("SELECT data FROM fs_data WHERE ino=? AND chunk_index=?"), ino, index)
		for w.Step(q) {
			same = bytes.Equal(q.ColumnRawBlob(0), data)
		}
		if err := w.Done(q); err != nil || same {
			return err
		}
	}
	if err := w.keepPut(database.KeptData, ino, index); err != nil {
		return err
	}
	return do(w.conn, "INSERT INTO main.fs_data (ino, chunk_index, data) VALUES (?,?,?) ON CONFLICT (ino, chunk_index) DO UPDATE SET data=excluded.data", ino, index, data)
}

// qContent is all of a file's content that it holds itself.
const qContent = "SELECT chunk_index, data FROM fs_data WHERE ino=?"

// OpenMoment opens a database at one moment, as [OpenMoments].
func OpenMoment(path, at string) (*Moment, error) { return openMoment(path, at) }

// SameContent tells whether a file holds the same content itself as one at another moment, of this database or of another.
func (m *Moment) SameContent(ino Ino, other *Moment, is Ino) (bool, error) {
	if m.s.chunkSize != other.s.chunkSize {
		return false, nil
	}
	seen := map[int64]bool{}
	same, bad := true, error(nil)
	err := m.s.tx.each(qContent, func(q *sqlite3.Stmt) {
		index, data := q.ColumnInt64(0), q.ColumnRawBlob(1)
		if seen[index] = true; !same || bad != nil {
			return
		}
		var there []byte
		bad = other.s.tx.each(qContent+" AND chunk_index=?", func(q *sqlite3.Stmt) {
			there = q.ColumnRawBlob(1)
			same = equalButZeros(data, there)
		}, is, index)
		if there == nil {
			same = same && equalButZeros(data, nil)
		}
	}, ino)
	if err = errors.Join(err, bad); err != nil || !same {
		return false, err
	}
	err = other.s.tx.each(qContent, func(q *sqlite3.Stmt) {
		if !seen[q.ColumnInt64(0)] && same {
			same = equalButZeros(q.ColumnRawBlob(1), nil)
		}
	}, is)
	return same, err
}

// equalButZeros tells whether chunks are equal, each of which goes on with zeros.
func equalButZeros(a, b []byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return bytes.Equal(a, b[:len(a)]) && len(bytes.TrimLeft(b[len(a):], "\x00")) == 0
}

// Xattrs returns all extended attributes of an inode, of whatever namespace.
func (m *Moment) Xattrs(ino Ino) (all map[string][]byte, err error) {
	all = map[string][]byte{}
	err = m.s.tx.each(qXattrs, func(q *sqlite3.Stmt) { all[string(q.ColumnRawText(0))] = q.ColumnBlob(1, []byte{}) }, ino)
	return all, err
}

// Bases returns the names of the workspaces, and of other layers, that something in the tree comes from, or came.
func (m *Moment) Bases() (names []string, err error) {
	err = m.s.tx.each("SELECT name FROM art_base", func(q *sqlite3.Stmt) { names = append(names, string(q.ColumnRawText(0))) })
	return names, err
}

// NameOf returns a name that leads to an inode; zero: none does. All names are looked through.
func (m *Moment) NameOf(ino Ino) (n NameIn, err error) {
	err = m.s.tx.each("SELECT parent_ino, name FROM fs_dentry WHERE ino=? LIMIT 1", func(q *sqlite3.Stmt) {
		n = NameIn{Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1))}
	}, ino)
	return n, err
}

// From returns the inodes that come from a path of a base.
func (m *Moment) From(base, path string) (list []Ino, err error) {
	err = m.s.tx.each("SELECT ino FROM art_origin WHERE path=? AND base=(SELECT id FROM art_base WHERE name=?)", func(q *sqlite3.Stmt) {
		list = append(list, Ino(q.ColumnInt64(0)))
	}, []byte(path), base)
	return list, err
}

// HostFile is a version of a file of a base, by all of its names there.
type HostFile struct {
	Base            string // name of the workspace whose tree it is in
	dev, ino        uint64
	size, sec, nsec int64
}

// HostFileOf returns what of a base a fingerprint is of.
func HostFileOf(base string, f *Fingerprint) HostFile {
	return HostFile{base, f.Dev, f.Ino, f.Size, f.Mtime.Sec, int64(f.Mtime.Nsec)}
}

// HostRow is an inode that stands for a file of the host.
type HostRow struct {
	Ino   Ino
	Path  string // as [Origin].Path
	Links uint32 // its names: entries that lead to it, and those by which the host shows it
	Names uint32 // entries alone
}

// HostRows returns the inodes that stand for files of the host, which are no directories. Of several for one, it is the first.
func (m *Moment) HostRows() (map[HostFile]HostRow, error) {
	all := map[HostFile]HostRow{}
	err := m.s.tx.each(`SELECT o.ino, b.name, o.path, o.dev, o.base_ino, o.size, o.mtime, o.mtime_nsec, i.nlink, ifnull(d.names, 0)
		FROM art_origin o JOIN art_base b ON b.id=o.base JOIN fs_inode i ON i.ino=o.ino
		LEFT JOIN (SELECT ino, count(*) AS names FROM fs_dentry GROUP BY ino) d ON d.ino=o.ino
		WHERE i.nlink>0 AND i.mode&61440<>16384 ORDER BY o.ino DESC`, func(q *sqlite3.Stmt) {
		f := HostFile{string(q.ColumnRawText(1)), uint64(q.ColumnInt64(3)), uint64(q.ColumnInt64(4)), q.ColumnInt64(5), q.ColumnInt64(6), q.ColumnInt64(7)}
		all[f] = HostRow{Ino(q.ColumnInt64(0)), string(q.ColumnRawBlob(2)), uint32(q.ColumnInt64(8)), uint32(q.ColumnInt64(9))}
	})
	return all, err
}

// LastCopied returns the last checkpoint before the moment at which a directory had an entry of some name that history took of the host's
// before a pull; 0: none that history knows.
func (m *Moment) LastCopied(dir Ino, name string) (last int64, err error) {
	err = m.s.tx.each("SELECT max(checkpoint) FROM main.art_old_dentry WHERE parent_ino=? AND name=? AND there=1 AND ino<0 AND checkpoint<?",
		func(q *sqlite3.Stmt) { last = q.ColumnInt64(0) }, dir, name, m.before())
	return last, err
}

// Parent returns of a fork what it has in common with the database that it was made of, the checkpoint there, and the highest number of an
// inode then, up to which an inode is the same in both. The secret is nil if it is no fork.
func (m *Moment) Parent() (secret []byte, checkpoint int64, top Ino) {
	if !m.s.stack.Forked() {
		return nil, 0, 0
	}
	p := &m.s.stack.Parents[0]
	return p.Secret, p.Checkpoint, Ino(p.MaxIno)
}

// SinceFork returns where the tree of a fork may differ from what it was when the fork was made: in what the fork has rows of its own of,
// now or ever. base is the parent at that moment.
func (m *Moment) SinceFork(base *Moment) (*Difference, error) {
	d := newDifference()
	d.Top = base.top()
	for _, k := range database.AllKept {
		key, seen := k.Key[0], d.Inodes
		switch {
		case k == database.KeptDentry || k == database.KeptWhiteout:
			key += ", name"
		case k == database.KeptData:
			seen = d.Content
		}
		hidden := "SELECT key1 FROM main.art_hidden WHERE of_table='" + k.Table + "'"
		if strings.Contains(key, ",") {
			hidden = "SELECT key1, key2 FROM main.art_hidden WHERE of_table='" + k.Table + "'"
		}
		err := m.s.tx.each("SELECT "+key+" FROM main."+k.Table+" UNION SELECT "+key+" FROM main."+k.Old+" UNION "+hidden, func(q *sqlite3.Stmt) {
			ino := Ino(q.ColumnInt64(0))
			if d.Inodes[ino], seen[ino] = true, true; q.ColumnCount() > 1 {
				d.name(ino, string(q.ColumnRawText(1)))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	d.several = d.Inodes // as far as is known
	for _, m := range []*Moment{base, m} {
		if err := m.climb(d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Merged is what of a fork was merged: its checkpoint, 0 for none, and what was left in conflict.
type Merged struct {
	Checkpoint int64
	Conflicts  []MergeConflict
}

// MergeConflict is a path that a merge has left alone.
type MergeConflict struct {
	Path  string // below the root
	Marks bool   // it is about the mode, owner and extended attributes of a directory, not about what is in that
}

// mergeKeys are the keys by which a fork knows its checkpoints that were merged, as if each were of a fork of its own: so they stay.
func mergeKeys(secret []byte) [2][]byte {
	second := sha256.Sum256(append([]byte("merged "), secret...))
	return [2][]byte{secret, second[:len(secret)]}
}

// MergeKey returns the key by which a fork, of which a moment is given, is to know the next checkpoint of it that is merged. The one up to
// which it was merged has another: it stays until a merge of the next one is committed, and as long as that can be undone.
func (m *Moment) MergeKey(secret []byte, merged int64) ([]byte, error) {
	keys := mergeKeys(secret)
	list, err := Query(m.s, func(tx *Tx) ([]Fork, error) { return forksOf(tx.meta) })
	for _, f := range list {
		if f.Checkpoint == merged && bytes.Equal(f.Secret, keys[0]) {
			return keys[1], err
		}
	}
	return keys[0], err
}

// mergedTree is what agreements with a fork are known by.
func mergedTree(secret []byte) Tree { return Tree{Name: layerName("fork", hex.EncodeToString(secret))} }

// MergedOf returns what of a fork was merged.
func (tx *Tx) MergedOf(secret []byte) (m Merged, err error) {
	all, err := tx.Baselines(mergedTree(secret))
	for at, b := range all {
		if at == "." {
			m.Checkpoint = int64(b.Fingerprint.Ino)
		} else {
			m.Conflicts = append(m.Conflicts, MergeConflict{at, b.Mode == syscall.S_IFDIR})
		}
	}
	return m, err
}

// MergedOf is [Tx.MergedOf].
func (m *Moment) MergedOf(secret []byte) (Merged, error) { return m.s.tx.MergedOf(secret) }

// Baselines is [Tx.Baselines].
func (m *Moment) Baselines(t Tree) (map[string]*Baseline, error) { return m.s.tx.Baselines(t) }

// Agreed returns what was agreed on at a path of a workspace, also with directories that were at its place before.
func (m *Moment) Agreed(workspace, path string) (list []*Baseline, err error) {
	err = m.s.tx.each(strings.Replace(qBaselines, "tree=?", "path=? AND tree IN (SELECT id FROM art_tree WHERE name=?)", 1),
		func(q *sqlite3.Stmt) { list = append(list, scanBaseline(q)) }, []byte(path), workspace)
	return list, err
}

// SetMerged remembers what of a fork is merged.
func (tx *Tx) SetMerged(secret []byte, m Merged) error {
	tree, now := mergedTree(secret), Now()
	was, err := tx.MergedOf(secret)
	if err != nil {
		return err
	}
	for _, c := range was.Conflicts {
		tx.SetBaseline(tree, c.Path, nil)
	}
	for _, c := range m.Conflicts {
		b := &Baseline{RowCtime: now}
		if c.Marks {
			b.Mode = syscall.S_IFDIR
		}
		tx.SetBaseline(tree, c.Path, b)
	}
	tx.SetBaseline(tree, ".", &Baseline{Mode: syscall.S_IFDIR, Fingerprint: Fingerprint{Ino: uint64(m.Checkpoint)}, RowCtime: now})
	return nil
}
