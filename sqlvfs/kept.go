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

// keepInode has the history know all rows of an inode in a table before they are deleted. Of a fork, those below it stay where they
// are: without the inode they mean nothing. That the inode itself is not there is said by hiding it, and so is that it shows a number no more.
func (w *writer) keepInode(k *database.Kept, ino Ino, hide bool) error {
	if !hide {
		return w.keepDeleted(k.DeleteAll, ino)
	}
	if err := w.keepDeleted(k.Delete, ino); err != nil {
		return err
	}
	return w.hide(k, k.HideRow, ino)
}

func (w *writer) keep(query string, ino Ino, more []any) error {
	if ino > w.newest.maxIno {
		return nil
	}
	return do(w.conn, query, append([]any{w.newest.ID, w.newest.maxIno, ino}, more...)...)
}

// hideCut hides the content of a file from a chunk on.
var hideCut = database.KeptData.HideRows("u.ino=?1 AND u.chunk_index>=?2")

// hide has what is below a fork show no more. query is one of [database.Kept]; the first value is the number of an inode, but for what is of
// the host.
func (w *writer) hide(k *database.Kept, query string, values ...any) error {
	if w.below(k, values[0]) {
		return do(w.conn, query, values...)
	}
	return nil
}

// own has a fork have a row itself that is below it, if there is one.
func (w *writer) own(k *database.Kept, key ...any) error {
	if w.below(k, key[0]) {
		return do(w.conn, k.OwnRow, key...)
	}
	return nil
}

// dropRow deletes a row, of which the history knows.
func (w *writer) dropRow(k *database.Kept, key ...any) error {
	if err := w.hide(k, k.HideRow, key...); err != nil {
		return err
	}
	return do(w.conn, k.DropRow, key...)
}

// below tells whether there may be rows of an inode below a fork.
func (w *writer) below(k *database.Kept, ino any) bool {
	if !w.store.stack.Forked() {
		return false
	}
	n, ok := ino.(Ino)
	return k.Host || !ok || n <= Ino(w.store.stack.Parents[0].MaxIno)
}
