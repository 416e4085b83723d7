package sqlvfs

import (
	"cmp"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	qPutInode = `INSERT INTO main.fs_inode (ino, mode, nlink, uid, gid, rdev, size,
		atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (ino) DO UPDATE SET mode=excluded.mode, nlink=excluded.nlink, uid=excluded.uid, gid=excluded.gid,
		rdev=excluded.rdev, size=excluded.size, atime=excluded.atime, atime_nsec=excluded.atime_nsec,
		mtime=excluded.mtime, mtime_nsec=excluded.mtime_nsec, ctime=excluded.ctime, ctime_nsec=excluded.ctime_nsec`
	qPutDentry = `INSERT INTO main.fs_dentry (name, parent_ino, ino) VALUES (?,?,?)
		ON CONFLICT (parent_ino, name) DO UPDATE SET ino=excluded.ino`
	qPutOrigin = `INSERT OR REPLACE INTO main.art_origin (ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit, base_mode, hash, until)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
)

func bindInode(q *sqlite3.Stmt, ino Ino, a *Attr) {
	for i, v := range [...]int64{
		int64(ino), int64(a.Mode), int64(a.Nlink), int64(a.UID), int64(a.GID), int64(a.Rdev), a.Size,
		a.Atime.Sec, int64(a.Atime.Nsec), a.Mtime.Sec, int64(a.Mtime.Nsec), a.Ctime.Sec, int64(a.Ctime.Nsec),
	} {
		q.BindInt64(i+1, v)
	}
}

// commit writes a batch in one transaction, which drops so many of the oldest checkpoints first. The batch was taken, so no lock is
// needed. Rows go in the order of their keys, which is the order of the tree's pages.
func (w *writer) commit(b *batch, drop int) (err error) {
	if b.empty() && !b.logs() {
		return nil
	}
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	before, dropped := w.moment, w.dropped
	defer func() {
		switch {
		case err != nil:
			w.dropped = dropped
			clear(w.bases) // the rows of those that were new are not there
			clear(w.trees)
			clear(w.there)
			w.kept.forget()
			w.moment = before
			w.store.watch.failed()
		case w.newest.ID > before.newest.ID:
			w.checkpointed = time.Now()
		}
	}()
	defer database.End(w.Conn, &err)
	defer func() { err = w.closeBlob(err) }()
	w.wrote = true
	if drop > 0 {
		if err := w.dropOldest(drop); err != nil {
			return err
		}
	}
	if b.changes() && !w.found {
		if err := w.checkpointFound(); err != nil {
			return err
		}
	}
	for _, put := range [...]func(*batch) error{
		w.putCuts, w.putRows, w.putNames, w.putXattrs, w.putBaselines, w.putPulled, w.putReleased, w.putProcesses, w.putNotes, w.quieten, w.putWorkspaces, w.putHolds, w.putJournal, w.putChunks, w.putFills, w.putCheckpoint,
	} {
		if err := put(b); err != nil {
			return err
		}
	}
	if b.changes() && !b.late && w.due() {
		return w.checkpointIfChanged(AtRest)
	}
	return nil
}

func (w *writer) exec(query string, args ...int64) error {
	q := w.Prep(query)
	for i, v := range args {
		q.BindInt64(i+1, v)
	}
	return w.Run(q)
}

func (w *writer) putCuts(b *batch) error {
	for in, from := range b.cuts {
		if err := w.keepCut(in.Ino, from); err != nil {
			return err
		}
		if err := w.hide(database.KeptData, hideCut, in.Ino, from); err != nil {
			return err
		}
		if err := w.exec("DELETE FROM main.fs_data WHERE ino=? AND chunk_index>=?", int64(in.Ino), from); err != nil {
			return err
		}
	}
	return nil
}

// putRows brings inodes' rows to what they were when the batch was taken.
func (w *writer) putRows(b *batch) error {
	slices.SortFunc(b.rows, func(x, y inodeRow) int { return cmp.Compare(x.in.Ino, y.in.Ino) })
	for i := range b.rows {
		put := w.putInode
		if r := &b.rows[i]; r.dead || r.attr.Nlink == 0 {
			put = w.dropInode
		}
		if err := put(&b.rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putInode(r *inodeRow) error {
	ino := int64(r.in.Ino)
	if err := w.putBirth(r); err != nil {
		return err
	}
	if a := &r.attr; ino <= int64(w.newest.maxIno) {
		err := w.keepPut(database.KeptInode, r.in.Ino, a.Mode, a.Nlink, a.UID, a.GID, a.Size, a.Mtime.Sec, a.Ctime.Sec,
			a.Rdev, int64(a.Mtime.Nsec), int64(a.Ctime.Nsec))
		if err != nil {
			return err
		}
	}
	q := w.Prep(qPutInode)
	bindInode(q, r.in.Ino, &r.attr)
	if err := w.Run(q); err != nil {
		return err
	}
	if r.target != "" {
		if err := w.keepPut(database.KeptSymlink, r.in.Ino); err != nil {
			return err
		}
		if err := do(w.conn, "INSERT OR REPLACE INTO main.fs_symlink (ino, target) VALUES (?,?)", ino, r.target); err != nil {
			return err
		}
	}
	wasOrphan := r.tables&orphanRows != 0
	if wasOrphan {
		if err := w.exec("DELETE FROM art_orphan WHERE ino=?", ino); err != nil {
			return err
		}
	}
	if wasOrphan || r.dirty&dirtyOrigin != 0 {
		return w.putOrigin(ino, r.origin)
	}
	return nil
}

// deletions are the statements that delete an inode, and whether they are for one that becomes an orphan too.
var deletions = [...]struct {
	tables    tables
	ofOrphans bool
	query     string
	kept      *database.Kept // nil: no history
}{
	{inodeRows, true, "DELETE FROM main.fs_inode WHERE ino=?", database.KeptInode},
	{sideRows, true, "DELETE FROM main.fs_origin WHERE delta_ino=?", database.KeptNumber},
	{sideRows, true, "DELETE FROM main.art_origin WHERE ino=?", database.KeptOrigin},
	{sideRows, false, "DELETE FROM main.fs_symlink WHERE ino=?", database.KeptSymlink},
	{dataRows, false, "DELETE FROM main.fs_data WHERE ino=?", database.KeptData},
	{birthRows, false, "DELETE FROM main.art_birth WHERE ino=?", database.KeptBirth},
	{xattrRows, false, "DELETE FROM main.art_xattr WHERE ino=?", database.KeptXattr},
	{orphanRows, false, "DELETE FROM art_orphan WHERE ino=?", nil},
}

// dropInode deletes an inode's rows. When it has no name but is open, it becomes an orphan, which has its
// content still; a target is content, which is asked for by what has the link open.
func (w *writer) dropInode(r *inodeRow) error {
	ino := int64(r.in.Ino)
	if !r.dead && r.born == unloadedBirth && r.tables&birthRows != 0 {
		// Its row, which is about to go, tells when it was made, whatever it implies by now.
		if err := w.own(database.KeptBirth, r.in.Ino); err != nil {
			return err
		}
		if err := w.exec(qKeepBirth, ino, unknownBirth); err != nil {
			return err
		}
	}
	for _, d := range &deletions {
		if r.tables&d.tables != 0 && (r.dead || d.ofOrphans) {
			if d.kept != nil {
				if err := w.keepInode(d.kept, r.in.Ino, d.ofOrphans); err != nil {
					return err
				}
			}
			if err := w.exec(d.query, ino); err != nil {
				return err
			}
		}
	}
	if r.dead {
		return nil
	}
	return w.exec("INSERT OR IGNORE INTO art_orphan (ino) VALUES (?)", ino)
}

func (w *writer) putOrigin(ino int64, o *Origin) error {
	var number any
	if o != nil {
		number = int64(o.Number)
	}
	if err := w.keepPut(database.KeptNumber, Ino(ino), number); err != nil {
		return err
	}
	if err := w.keepPut(database.KeptOrigin, Ino(ino)); err != nil {
		return err
	}
	if o == nil {
		if err := w.dropRow(database.KeptNumber, ino); err != nil {
			return err
		}
		return w.dropRow(database.KeptOrigin, ino)
	}
	base, err := w.base(o.Base)
	if err != nil {
		return err
	}
	var hash []byte
	if o.Hash != "" {
		hash = []byte(o.Hash)
	}
	if err := do(w.conn, qPutOrigin, ino, base, []byte(o.Path), o.Fingerprint, o.Limit, o.Mode, hash, o.Until); err != nil {
		return err
	}
	return w.exec("INSERT OR REPLACE INTO main.fs_origin (delta_ino, base_ino) VALUES (?,?)", ino, int64(o.Number))
}

// base returns the number of a host tree, giving it one when it is new.
func (w *writer) base(name string) (int64, error) {
	if id, ok := w.bases[name]; ok {
		return id, nil
	}
	if err := do(w.conn, "INSERT INTO art_base (name) VALUES (?) ON CONFLICT (name) DO NOTHING", name); err != nil {
		return 0, err
	}
	id, err := queryNumber(w.conn, "SELECT id FROM art_base WHERE name=?", name)
	if err == nil {
		w.bases[name] = id
	}
	return id, err
}

func (w *writer) putNames(b *batch) error {
	keys := sortedKeys(b.dentries, func(x, y nameKey) int {
		return cmp.Or(cmp.Compare(x.dir.Ino, y.dir.Ino), cmp.Compare(x.name, y.name))
	})
	for _, k := range keys {
		e := b.dentries[k]
		var err error
		if e.gone {
			if err = w.keepDeleted(database.KeptDentry, k.dir.Ino, k.name); err == nil {
				err = w.dropRow(database.KeptDentry, k.dir.Ino, k.name)
			}
		} else if err = w.keepPut(database.KeptDentry, k.dir.Ino, k.name, e.value); err == nil {
			err = do(w.conn, qPutDentry, k.name, k.dir.Ino, e.value)
		}
		if err != nil {
			return err
		}
	}
	for k, e := range b.whiteouts {
		err := w.keepPut(database.KeptWhiteout, k.dir.Ino, k.name)
		switch {
		case err != nil:
		case e.gone:
			err = w.dropRow(database.KeptWhiteout, k.dir.Ino, k.name)
		default:
			err = do(w.conn, "INSERT OR IGNORE INTO main.art_whiteout (parent_ino, name) VALUES (?,?)", k.dir.Ino, k.name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putXattrs(b *batch) error {
	for k, e := range b.xattrs {
		err := w.keepPut(database.KeptXattr, k.in.Ino, k.name)
		if err != nil {
			return err
		}
		if e.gone {
			err = w.dropRow(database.KeptXattr, k.in.Ino, k.name)
		} else {
			err = do(w.conn, "INSERT OR REPLACE INTO main.art_xattr (ino, name, value) VALUES (?,?,?)", k.in.Ino, k.name, e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putChunks(b *batch) error {
	keys := sortedKeys(b.chunks, func(x, y chunkKey) int {
		return cmp.Or(cmp.Compare(x.in.Ino, y.in.Ino), cmp.Compare(x.index, y.index))
	})
	for _, k := range keys {
		err := w.keepPut(database.KeptData, k.in.Ino, k.index)
		if err != nil {
			return err
		}
		switch c := b.chunks[k]; {
		case c.patch != nil:
			err = w.putPatch(k, c)
		case len(c.data) == 0:
			err = w.dropRow(database.KeptData, k.in.Ino, k.index)
		default:
			err = w.putChunk(k, c.data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
