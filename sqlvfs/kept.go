package sqlvfs

import "github.com/riverlytech/art/sqlvfs/internal/database"

// keepPut has the history know what a row of an inode was, or that there was none, before it is written. more is the rest of its
// key, and of an entry what it will lead to. What is newer than the newest checkpoint has no history.
func (w *writer) keepPut(k *database.Kept, ino Ino, more ...any) error {
	return w.keep(k.Put, ino, more)
}

// keepDeleted has the history know rows of an inode before they are deleted. query is one of [database.Kept].
func (w *writer) keepDeleted(query string, ino Ino, more ...any) error {
	return w.keep(query, ino, more)
}

// keepInode has the history know all rows of an inode in a table before they are deleted.
func (w *writer) keepInode(k *database.Kept, ino Ino) error {
	if k == database.KeptData {
		return w.keepDeleted(k.DeleteAll, ino, int64(0))
	}
	return w.keepDeleted(k.DeleteAll, ino)
}

func (w *writer) keep(query string, ino Ino, more []any) error {
	if ino > w.newest.maxIno {
		return nil
	}
	return do(w.conn, query, append([]any{w.newest.ID, w.newest.maxIno, ino}, more...)...)
}
