package sqlvfs

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Tree is a directory of the host that is a workspace. Device numbers are not part of it: they
// change when file systems are mounted in another order.
type Tree struct {
	Name  string   // of the workspace
	Ino   uint64   // of the directory
	Birth Timespec // when it was made; zero where the file system does not tell
}

// Baseline is what the host's object at a path of a workspace was when the host and the tree here
// last agreed about that path, or when the tree last showed it. From baseline, host and tree
// follows who has changed what. Values are never changed, only replaced.
type Baseline struct {
	Mode        uint32 // type and permissions; permissions 0 may be unknown
	Fingerprint        // of the host's object
	Hash        []byte // SHA-256 of its content, or of its target; nil: unknown

	// Row is the inode that agreed with it, and RowCtime its change time then. 0: none did, the
	// tree merely showed the host's object until it hid it, at RowCtime.
	Row      Ino
	RowCtime Timespec
}

// Baseline is the origin as what the tree last agreed with: the inode has not been changed since as
// long as it has the change time that it took over.
func (in *Inode) Baseline() *Baseline {
	o := in.Origin
	b := &Baseline{Mode: o.ModeOf(in.Attr.Mode), Fingerprint: o.Fingerprint, Row: in.Ino, RowCtime: o.Ctime}
	if o.Hash != "" {
		b.Hash = []byte(o.Hash)
	}
	return b
}

// ModeOf is the mode of the origin's object; where it was not written down, it has at least the type, which is that of the inode's mode.
func (o *Origin) ModeOf(row uint32) uint32 {
	if o.Mode != 0 {
		return o.Mode
	}
	return row & unix.S_IFMT
}

type baselineKey struct {
	tree Tree
	path string
}

// baselineChange is a baseline to write; nil removes it.
type baselineChange struct {
	*Baseline
	onlyIfNone bool // the one that is there already counts, but for the hash of the same version
}

// then is what two changes amount to, the second after the first.
func (was baselineChange) then(now baselineChange) baselineChange {
	switch {
	case !now.onlyIfNone:
		return now
	case was.Baseline == nil:
		return baselineChange{now.Baseline, false}
	case was.Hash == nil && was.Fingerprint == now.Fingerprint:
		known := *was.Baseline
		known.Hash = now.Hash
		return baselineChange{&known, was.onlyIfNone}
	}
	return was
}

// SetBaseline writes down a baseline in place of the one that is there; nil removes it.
func (tx *Tx) SetBaseline(t Tree, path string, b *Baseline) {
	tx.changeBaseline(baselineKey{t, path}, baselineChange{b, false})
}

// AddBaseline writes down a baseline unless there is one already. If that is of the same version, but has no hash,
// it gets the one given.
func (tx *Tx) AddBaseline(t Tree, path string, b *Baseline) {
	tx.changeBaseline(baselineKey{t, path}, baselineChange{b, true})
}

func (tx *Tx) changeBaseline(k baselineKey, c baselineChange) {
	tx.begin()
	if was, ok := tx.gather.baselines[k]; ok {
		c = was.then(c)
	}
	tx.gather.baselines[k] = c
	tx.gather.bytes += len(k.path)
}

// Baselines returns a workspace's baselines by path. Of changes, those that are committed count.
func (tx *Tx) Baselines(t Tree) (map[string]*Baseline, error) {
	if tx.moved != nil && tx.moved.Workspace.Tree == t {
		return maps.Clone(tx.moved.Baselines), nil
	}
	id := int64(-1)
	err := tx.each(qTrees, func(q *sqlite3.Stmt) {
		if t == scanTree(q) {
			id = q.ColumnInt64(0)
		}
	})
	if err != nil || id < 0 {
		return nil, err
	}
	all := map[string]*Baseline{}
	err = tx.each(qBaselines, func(q *sqlite3.Stmt) {
		path := string(q.ColumnRawBlob(0))
		if !database.ValidPath(path) {
			return // as with names that no directory can hold
		}
		all[path] = scanBaseline(q)
	}, id)
	if err != nil {
		return nil, fmt.Errorf("baselines: %w", err)
	}
	return all, nil
}

// scanBaseline reads a row of qBaselines.
func scanBaseline(q *sqlite3.Stmt) *Baseline {
	b := &Baseline{
		Mode:        uint32(q.ColumnInt64(1)),
		Fingerprint: scanFingerprint(q, 2),
		Row:         Ino(q.ColumnInt64(10)),
		RowCtime:    scanTime(q, 11),
	}
	if q.ColumnType(9) == sqlite3.BLOB {
		b.Hash = q.ColumnBlob(9, nil)
	}
	return b
}

func (w *writer) putBaselines(b *batch) error {
	// In order, as the rows are in the table: a tree that is removed has one for each of its files.
	keys := sortedKeys(b.baselines, func(x, y baselineKey) int {
		return cmp.Or(cmp.Compare(x.tree.Name, y.tree.Name), cmp.Compare(x.path, y.path))
	})
	for _, k := range keys {
		tree, err := w.tree(k.tree)
		if err != nil {
			return err
		}
		put := w.setBaseline
		if b.baselines[k].onlyIfNone {
			put = w.addBaseline
		}
		if err := put(tree, []byte(k.path), b.baselines[k].Baseline); err != nil {
			return err
		}
	}
	return nil
}

const qPutBaseline = ` INTO main.art_baseline (tree, path, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, hash,
	row, row_ctime, row_ctime_nsec) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func (w *writer) putBaseline(query string, tree int64, path []byte, b *Baseline) error {
	return do(w.conn, query, tree, path, b.Mode, b.Fingerprint, b.Hash, b.Row, b.RowCtime)
}

func (w *writer) setBaseline(tree int64, path []byte, b *Baseline) error {
	if err := w.keepAgreed(database.KeptBaseline, tree, path); err != nil {
		return err
	}
	if b == nil {
		return w.dropRow(database.KeptBaseline, tree, path)
	}
	return w.putBaseline("INSERT OR REPLACE"+qPutBaseline, tree, path, b)
}

// addBaseline writes down a baseline where there is none. What was there at the newest checkpoint need not be looked at: it was
// nothing, or it has been deleted since, and the history has it.
func (w *writer) addBaseline(tree int64, path []byte, b *Baseline) error {
	if err := w.own(database.KeptBaseline, tree, path); err != nil {
		return err
	}
	if err := w.putBaseline("INSERT"+qPutBaseline+" ON CONFLICT DO NOTHING", tree, path, b); err != nil {
		return err
	}
	switch {
	case w.Changes() == 0:
		return do(w.conn, `UPDATE main.art_baseline SET hash=? WHERE tree=? AND path=? AND hash IS NULL
			AND (dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec) = (?,?,?,?,?,?,?)`, b.Hash, tree, path, b.Fingerprint)
	case w.newest.ID == 0:
		return nil
	}
	return do(w.conn, "INSERT INTO art_old_baseline (tree, path, checkpoint, there) VALUES (?,?,?,0) ON CONFLICT DO NOTHING", tree, path, w.newest.ID)
}

// tree returns the number of a workspace's directory, giving it one when it is new.
func (w *writer) tree(t Tree) (int64, error) {
	if id, ok := w.trees[t]; ok {
		return id, nil
	}
	if err := do(w.conn, "INSERT OR IGNORE INTO art_tree (name, ino, birth, birth_nsec) VALUES (?,?,?,?)", t.Name, t.Ino, t.Birth); err != nil {
		return 0, err
	}
	id, err := queryNumber(w.conn, "SELECT id FROM art_tree WHERE name=? AND ino=? AND birth=? AND birth_nsec=?", t.Name, t.Ino, t.Birth)
	if err == nil {
		w.trees[t] = id
	}
	return id, err
}

// TreeOf says which workspace the open directory fd is, under a name.
func TreeOf(fd int, name string) (Tree, error) {
	var st unix.Statx_t
	// AT_EMPTY_PATH: fd itself, which may have been opened with O_PATH (statx(2)).
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err != nil {
		return Tree{}, err
	}
	t := Tree{Name: name, Ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		t.Birth = Timespec{Sec: st.Btime.Sec, Nsec: int32(st.Btime.Nsec)}
	}
	return t, nil
}

// Baseline is that of the inode's origin, as [Inode.Baseline].
func (n *Node) Baseline() *Baseline {
	return (&Inode{Ino: n.Ino, Attr: n.Attr, Origin: n.Origin}).Baseline()
}

// Agreed returns, of every inode that a baseline of whatever directory speaks of, the change time
// that it had then: one that still has it was not changed since. Of changes, those that are committed
// count.
func (tx *Tx) Agreed() (map[Ino]Timespec, error) {
	all := map[Ino]Timespec{}
	err := tx.each(qAgreed, func(q *sqlite3.Stmt) { all[Ino(q.ColumnInt64(0))] = scanTime(q, 1) })
	return all, err
}
