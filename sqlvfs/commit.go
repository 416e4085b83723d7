package sqlvfs

import (
	"cmp"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	qPutInode = `INSERT INTO fs_inode (ino, mode, nlink, uid, gid, rdev, size,
		atime, atime_nsec, mtime, mtime_nsec, ctime, ctime_nsec) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (ino) DO UPDATE SET mode=excluded.mode, nlink=excluded.nlink, uid=excluded.uid, gid=excluded.gid,
		rdev=excluded.rdev, size=excluded.size, atime=excluded.atime, atime_nsec=excluded.atime_nsec,
		mtime=excluded.mtime, mtime_nsec=excluded.mtime_nsec, ctime=excluded.ctime, ctime_nsec=excluded.ctime_nsec`
	qPutDentry = `INSERT INTO fs_dentry (name, parent_ino, ino) VALUES (?,?,?)
		ON CONFLICT (parent_ino, name) DO UPDATE SET ino=excluded.ino`
	qPutOrigin = `INSERT OR REPLACE INTO art_origin (ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit, base_mode, hash, until)
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

// commit writes a batch in one transaction. The batch is frozen, so no lock is needed. Rows go in
// the order of their keys, which is the order of the tree's pages.
func (w *writer) commit(b *batch) (err error) {
	if b.empty() {
		return nil
	}
	if err := w.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		err = w.closeBlob(err)
		if err = database.End(w.Conn, err); err != nil {
			clear(w.bases) // the rows of those that were new are not there
			clear(w.trees)
		}
	}()
	w.wrote = true
	for in, from := range b.cuts {
		if err := w.exec("DELETE FROM fs_data WHERE ino=? AND chunk_index>=?", int64(in.Ino), from); err != nil {
			return err
		}
	}
	slices.SortFunc(b.rows, func(x, y inodeRow) int { return cmp.Compare(x.in.Ino, y.in.Ino) })
	for i := range b.rows {
		if err := w.putRow(&b.rows[i]); err != nil {
			return err
		}
	}
	if err := w.putNames(b); err != nil {
		return err
	}
	if err := w.putXattrs(b); err != nil {
		return err
	}
	if err := w.putBaselines(b); err != nil {
		return err
	}
	if err := w.putWorkspaces(b); err != nil {
		return err
	}
	if err := w.putHolds(b); err != nil {
		return err
	}
	if err := w.putJournal(b); err != nil {
		return err
	}
	keys := make([]chunkKey, 0, len(b.chunks))
	for k := range b.chunks {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y chunkKey) int {
		return cmp.Or(cmp.Compare(x.in.Ino, y.in.Ino), cmp.Compare(x.index, y.index))
	})
	for _, k := range keys {
		var err error
		switch c := b.chunks[k]; {
		case c.patch != nil:
			err = w.putPatch(k, c)
		case len(c.data) == 0:
			err = w.exec("DELETE FROM fs_data WHERE ino=? AND chunk_index=?", int64(k.in.Ino), k.index)
		default:
			err = w.putChunk(k, c.data)
		}
		if err != nil {
			return err
		}
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

// putRow brings an inode's rows to what they were when the batch was taken.
func (w *writer) putRow(r *inodeRow) error {
	ino := int64(r.in.Ino)
	if r.put {
		q := w.Prep(qPutInode)
		bindInode(q, r.in.Ino, &r.attr)
		if err := w.Run(q); err != nil {
			return err
		}
		if r.target != "" {
			q := w.Prep("INSERT OR REPLACE INTO fs_symlink (ino, target) VALUES (?,?)")
			q.BindInt64(1, ino)
			q.BindRawText(2, []byte(r.target))
			if err := w.Run(q); err != nil {
				return err
			}
		}
		if r.named {
			if err := w.exec("DELETE FROM art_orphan WHERE ino=?", ino); err != nil {
				return err
			}
		}
		if r.putOrigin {
			return w.putOrigin(ino, r.origin)
		}
		return nil
	}
	queries := []string{"DELETE FROM fs_inode WHERE ino=?"}
	if r.dropSide {
		queries = append(queries, "DELETE FROM fs_origin WHERE delta_ino=?", "DELETE FROM art_origin WHERE ino=?")
	}
	if r.orphan {
		queries = append(queries, "INSERT OR IGNORE INTO art_orphan (ino) VALUES (?)")
	} else {
		queries = append(queries, "DELETE FROM art_orphan WHERE ino=?")
		if r.dropSide {
			queries = append(queries, "DELETE FROM fs_symlink WHERE ino=?")
		}
		if r.dropData {
			queries = append(queries, "DELETE FROM fs_data WHERE ino=?")
		}
		if r.dropXattrs {
			queries = append(queries, "DELETE FROM art_xattr WHERE ino=?")
		}
	}
	for _, q := range queries {
		if err := w.exec(q, ino); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putOrigin(ino int64, o *Origin) error {
	if o == nil {
		if err := w.exec("DELETE FROM fs_origin WHERE delta_ino=?", ino); err != nil {
			return err
		}
		return w.exec("DELETE FROM art_origin WHERE ino=?", ino)
	}
	base, err := w.base(o.Base)
	if err != nil {
		return err
	}
	q := w.Prep(qPutOrigin)
	q.BindInt64(1, ino)
	q.BindInt64(2, base)
	q.BindBlob(3, []byte(o.Path))
	for i, v := range [...]int64{int64(o.Dev), int64(o.Ino), o.Size, o.Mtime.Sec, int64(o.Mtime.Nsec), o.Ctime.Sec, int64(o.Ctime.Nsec), o.Limit, int64(o.Mode)} {
		q.BindInt64(4+i, v)
	}
	bindHash(q, 13, o.Hash)
	q.BindInt64(14, o.Until)
	if err := w.Run(q); err != nil {
		return err
	}
	return w.exec("INSERT OR REPLACE INTO fs_origin (delta_ino, base_ino) VALUES (?,?)", ino, int64(o.Number))
}

// base returns the number of a host tree, giving it one when it is new.
func (w *writer) base(name string) (int64, error) {
	if id, ok := w.bases[name]; ok {
		return id, nil
	}
	q := w.Prep("INSERT INTO art_base (name) VALUES (?) ON CONFLICT (name) DO NOTHING")
	q.BindRawText(1, []byte(name))
	if err := w.Run(q); err != nil {
		return 0, err
	}
	q = w.Prep("SELECT id FROM art_base WHERE name=?")
	q.BindRawText(1, []byte(name))
	var id int64
	if q.Step() {
		id = q.ColumnInt64(0)
	}
	if err := w.Done(q); err != nil {
		return 0, err
	}
	w.bases[name] = id
	return id, nil
}

func (w *writer) putNames(b *batch) error {
	keys := make([]nameKey, 0, len(b.dentries))
	for k := range b.dentries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y nameKey) int {
		return cmp.Or(cmp.Compare(x.dir.Ino, y.dir.Ino), cmp.Compare(x.name, y.name))
	})
	for _, k := range keys {
		ino, query := b.dentries[k], qPutDentry
		if ino == 0 {
			query = "DELETE FROM fs_dentry WHERE name=? AND parent_ino=?"
		}
		if err := w.name(query, k, int64(ino)); err != nil {
			return err
		}
	}
	for k, there := range b.whiteouts {
		query := "DELETE FROM art_whiteout WHERE name=? AND parent_ino=?"
		if there {
			query = "INSERT OR IGNORE INTO art_whiteout (name, parent_ino) VALUES (?,?)"
		}
		if err := w.name(query, k, 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putXattrs(b *batch) error {
	for k, value := range b.xattrs {
		query := "INSERT OR REPLACE INTO art_xattr (ino, name, value) VALUES (?,?,?)"
		if value == nil {
			query = "DELETE FROM art_xattr WHERE ino=? AND name=?"
		}
		q := w.Prep(query)
		q.BindInt64(1, int64(k.in.Ino))
		q.BindRawText(2, []byte(k.name))
		if value != nil {
			q.BindBlob(3, value)
		}
		if err := w.Run(q); err != nil {
			return err
		}
	}
	return nil
}

// name runs a statement on an entry. Names are bound as raw text: they are bytes, not characters.
func (w *writer) name(query string, k nameKey, ino int64) error {
	q := w.Prep(query)
	q.BindRawText(1, []byte(k.name))
	q.BindInt64(2, int64(k.dir.Ino))
	if ino != 0 {
		q.BindInt64(3, ino)
	}
	return w.Run(q)
}
