package sqlvfs

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// Restored is what going back has changed of live inodes, and what of others may concern who has live ones.
type Restored struct {
	Inodes []RestoredInode
	Names  []RestoredName // in live directories, and in those that came, that may mean something else now
	Came   []CameInode
}

// RestoredInode is a live inode that has changed.
type RestoredInode struct {
	In      *Inode
	Number  uint64  // that it showed to programs before
	Origin  *Origin // that it had before
	Was, Is bool    // whether it has had a name before, and has one now
	Content bool    // its content is another one

	loaded *Inode // what it is now
}

// RestoredName is a name in a directory.
type RestoredName struct {
	Dir  Ino
	In   *Inode // the directory; nil: it came
	Name string
	Was  Ino // that it led to; 0: none
}

// CameInode is an inode that has a row again, and was not live. Number is what it shows to programs, as it has an origin.
type CameInode struct {
	Ino    Ino
	Number uint64
}

// What has changed by going back is what history knows under the number of the newest checkpoint, which is of the tree before.
const (
	qRestoredInodes = `SELECT ino, max(content), max(names) FROM (
		SELECT ino, 0 AS content, 0 AS names FROM art_old_inode WHERE checkpoint=?1
		UNION ALL SELECT ino, 1, 0 FROM art_old_data WHERE checkpoint=?1 UNION ALL SELECT ino, 1, 0 FROM art_old_symlink WHERE checkpoint=?1
		UNION ALL SELECT delta_ino, 0, 0 FROM art_old_number WHERE checkpoint=?1 UNION ALL SELECT ino, 0, 0 FROM art_old_origin WHERE checkpoint=?1
		UNION ALL SELECT ino, 0, 0 FROM art_old_xattr WHERE checkpoint=?1
		UNION ALL SELECT parent_ino, 0, 1 FROM art_old_dentry WHERE checkpoint=?1 UNION ALL SELECT parent_ino, 0, 1 FROM art_old_whiteout WHERE checkpoint=?1)
		GROUP BY ino`
	qRestoredNames = `SELECT name, max(was) FROM (SELECT name, iif(there=1, ino, 0) AS was FROM art_old_dentry WHERE checkpoint=?1 AND parent_ino=?2
		UNION ALL SELECT name, 0 FROM art_old_whiteout WHERE checkpoint=?1 AND parent_ino=?2) GROUP BY name`
	qCameInodes = `SELECT h.ino, f.base_ino FROM art_old_inode h JOIN fs_inode i ON i.ino=h.ino JOIN fs_origin f ON f.delta_ino=h.ino
		WHERE h.checkpoint=?1 AND h.there=0`
)

// restored finds out what has changed of live inodes, before that is committed: nothing can go wrong any more when it is.
func (w *writer) restored(followed bool) (*Restored, error) {
	r, live, came := &Restored{}, w.store.tx.live, map[Ino]bool{}
	if !followed && len(live) == 1 { // only the root, as between sessions: it may as well not have changed
		return r, w.restoredInode(r, w.store.tx.root, true)
	}
	q := bind(w.Prep(qCameInodes), w.newest.ID)
	for w.Step(q) {
		if ino := Ino(q.ColumnInt64(0)); live[ino] == nil {
			r.Came = append(r.Came, CameInode{ino, uint64(q.ColumnInt64(1))})
			came[ino] = true
		}
	}
	if err := w.Done(q); err != nil {
		return nil, err
	}
	type changed struct {
		ino            Ino
		content, names bool
	}
	var list []changed
	q = bind(w.Prep(qRestoredInodes), w.newest.ID)
	for w.Step(q) {
		if ino := Ino(q.ColumnInt64(0)); live[ino] != nil || came[ino] {
			list = append(list, changed{ino, q.ColumnBool(1), q.ColumnBool(2)})
		}
	}
	if err := w.Done(q); err != nil {
		return nil, err
	}
	for _, c := range list {
		in := live[c.ino]
		if in != nil {
			if err := w.restoredInode(r, in, c.content); err != nil {
				return nil, err
			}
		}
		if !c.names {
			continue
		}
		q := bind(w.Prep(qRestoredNames), w.newest.ID, c.ino)
		for w.Step(q) {
			r.Names = append(r.Names, RestoredName{c.ino, in, string(q.ColumnRawText(0)), Ino(q.ColumnInt64(1))})
		}
		if err := w.Done(q); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (w *writer) restoredInode(r *Restored, in *Inode, content bool) error {
	c := RestoredInode{In: in, Number: in.Number(), Origin: in.Origin, Was: in.Attr.Nlink > 0, loaded: &Inode{Ino: in.Ino, loaded: &nothing}}
	err := w.store.tx.loadFrom(w.conn, c.loaded)
	if err != nil && !errors.Is(err, ErrNotExist) {
		return err
	}
	if c.Is = err == nil; c.Is {
		c.Content = content || !c.Was || c.loaded.Attr.Size != in.Attr.Size || c.loaded.Attr.Mtime != in.Attr.Mtime || !c.loaded.Origin.same(in.Origin)
	}
	r.Inodes = append(r.Inodes, c)
	return nil
}

// same tells whether two origins, either of which may be nil, supply the same.
func (o *Origin) same(other *Origin) bool {
	if o == nil || other == nil {
		return o == other
	}
	return o.Base == other.Base && o.Path == other.Path && o.Fingerprint == other.Fingerprint && o.Limit == other.Limit
}

// adopt brings live inodes up to date. All of what they were was committed.
func (tx *Tx) adopt(r *Restored) {
	tx.objects, tx.entries = nil, nil
	for i := range r.Inodes {
		c := &r.Inodes[i]
		in := c.In
		tx.drop(in)
		in.renew()
		if c.Is {
			in.Attr, in.Origin, in.tables, in.whole, in.loaded = c.loaded.Attr, c.loaded.Origin, c.loaded.tables, false, c.loaded.loaded
			tx.keep(in)
			continue
		}
		in.Attr.Nlink = 0
		in.tables = sideRows | dataRows | xattrRows | birthRows | orphanRows
		if in.Attr.IsDir() {
			in.loaded = &loaded{children: map[string]child{}, whiteout: map[string]bool{}}
		}
	}
}

// LiveSince returns the live inodes that are going to be changed by going back, but for what nothing is known of yet.
func (s *Store) LiveSince(to Destination) (list []RestoredInode, err error) {
	err = s.View(func(tx *Tx) error {
		all, err := tx.checkpoints()
		if err != nil || len(all) == 0 {
			return err
		}
		var now Checkpoint
		if !tx.gather.changes() && (tx.inflight == nil || !tx.inflight.changes()) {
			if changed, err := changedSince(tx.meta, &all[0]); err != nil {
				return err
			} else if !changed {
				now = all[0]
			}
		}
		chosen, err := to(tx.meta, &now, all)
		if err != nil {
			return err
		}
		at, err := original(tx.meta, chosen.to)
		if err != nil {
			return err
		}
		at = nearest(at, all)
		seen := map[Ino]bool{}
		see := func(in *Inode) {
			if in != nil && !seen[in.Ino] {
				seen[in.Ino] = true
				list = append(list, RestoredInode{In: in, Number: in.Number()})
			}
		}
		for in := range tx.gather.inodes {
			see(in)
		}
		return tx.each(`SELECT ino FROM art_old_data WHERE checkpoint>=?1 UNION ALL SELECT ino FROM art_old_inode WHERE checkpoint>=?1`,
			func(q *sqlite3.Stmt) { see(tx.live[Ino(q.ColumnInt64(0))]) }, at.ID)
	})
	return list, err
}
