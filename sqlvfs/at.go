package sqlvfs

import "syscall"

// A store that shows the tree at a checkpoint reads it with the statements that read the present: in its connections, temporary views
// have the names of the tables (database.Kept). What they show never changes, whatever is committed meanwhile, so the connections
// need not read the same commit.

// qChildrenAt is [qChildren] for views: SQLite looks single rows up in them, but would read them as a whole for a join.
const qChildrenAt = `SELECT name, ino, mode, number FROM (SELECT d.name, d.ino, (SELECT i.mode FROM fs_inode i WHERE i.ino=d.ino) AS mode,
	ifnull((SELECT f.base_ino FROM fs_origin f WHERE f.delta_ino=d.ino), 0) AS number FROM fs_dentry d WHERE d.parent_ino=?) WHERE mode IS NOT NULL`

// showAt has the store's connections show a checkpoint, given by number or label.
func (tx *Tx) showAt(name string) error {
	c, err := findCheckpoint(tx.meta, name)
	if err != nil {
		return err
	}
	tx.meta.Subst[qChildren] = qChildrenAt
	tx.at = &c
	tx.stack = tx.stack.At(c.ID, int64(c.maxIno))
	return nil
}

// At is the checkpoint that the store shows; nil: the present.
func (tx *Tx) At() *Checkpoint { return tx.at }

// checkAt returns [syscall.ESTALE] when the checkpoint that is shown was dropped meanwhile, and with it what would be needed to show it.
func (tx *Tx) checkAt() error {
	if tx.at == nil {
		return nil
	}
	n, err := queryNumber(tx.meta, "SELECT count(*) FROM art_checkpoint WHERE id=?", tx.at.ID)
	if err == nil && n == 0 {
		err = syscall.ESTALE
	}
	return err
}
