package sqlvfs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A store that shows the tree at a checkpoint reads it with the statements that read the present: in its connections, temporary views
// have the names of the tables (database.Kept). What they show never changes, whatever is committed meanwhile, so the connections
// need not read the same commit. Only when the checkpoint is dropped is what it needs no longer there, so each step asks for that at its end.

// layered are statements in the form that connections with views ask them in. SQLite copies what reads a view of several queries once for
// each of these, unless that has a LIMIT, and reads a view as a whole that it cannot look a single row up in, as for a join.
var layered = map[string]string{
	qInode: inodeColumns + `FROM (SELECT * FROM fs_inode WHERE ino=?1 LIMIT 1) i LEFT JOIN (SELECT * FROM art_origin WHERE ino=?1 LIMIT 1) o
		LEFT JOIN art_base b ON b.id=o.base LEFT JOIN (SELECT * FROM fs_origin WHERE delta_ino=?1 LIMIT 1) f`,
	qChildren: `SELECT name, ino, mode, number FROM (SELECT d.name, d.ino, (SELECT i.mode FROM fs_inode i WHERE i.ino=d.ino) AS mode,
		ifnull((SELECT f.base_ino FROM fs_origin f WHERE f.delta_ino=d.ino), 0) AS number
		FROM (SELECT name, ino FROM fs_dentry WHERE parent_ino=? LIMIT -1) d LIMIT -1) WHERE mode IS NOT NULL`,
}

// descend finds out what the database on a connection lies over.
func descend(c *conn) (database.Stack, error) {
	s, err := database.Descend(c.Conn)
	s.Subst = layered
	return s, err
}

// showAt has the store's connections show a checkpoint, given by number or label.
func (tx *Tx) showAt(name string) error {
	c, err := findCheckpoint(tx.meta, name)
	if err != nil {
		return err
	}
	tx.at = &c
	tx.stack = tx.stack.At(c.ID, int64(c.maxIno))
	return nil
}

// At is the checkpoint that the store shows; nil: the present.
func (tx *Tx) At() *Checkpoint { return tx.at }

// checkAt returns [syscall.ESTALE] when the checkpoint that is shown was dropped, and with it what would be needed to show it. It is
// called after what it is to vouch for was read, of however many commits: the checkpoint was there until now.
func (tx *Tx) checkAt() error {
	if tx.at == nil || tx.closing { // a step that reads nothing, as of a timer, may come after Close
		return nil
	}
	version, err := database.PragmaInt(tx.meta.Conn, "data_version")
	if err != nil || version == tx.shown {
		return err
	}
	n, err := queryNumber(tx.meta, "SELECT count(*) FROM art_checkpoint WHERE id=?", tx.at.ID)
	switch {
	case err != nil:
		return err
	case n == 0:
		return syscall.ESTALE
	}
	tx.shown = version // what has come between the two is another version
	return nil
}
