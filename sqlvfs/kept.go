package sqlvfs

import "github.com/riverlytech/art/sqlvfs/internal/database"

// keepPut has the history know what a row of an inode was, or that there was none, before it is written. more is the rest of its
// key, and of an entry what it will lead to; of an inode all that it will be. What is newer than the newest checkpoint has no history.
func (w *writer) keepPut(k *database.Kept, ino Ino, more ...any) error {
	then := Ino(0)
	if k.Entry && len(more) > 1 {
		then = more[1].(Ino)
	}
	return w.keep(k, k.Put, then, ino, more)
}

// keepDeleted has the history know a row of an inode before it is deleted. more is the rest of its key.
func (w *writer) keepDeleted(k *database.Kept, ino Ino, more ...any) error {
	return w.keep(k, k.Delete, 0, ino, more)
}

// keepCut has the history know a file's content from a chunk on before it is deleted.
func (w *writer) keepCut(ino Ino, from int64) error {
	return w.keepRows(database.Cut, ino, from)
}

// keepInode has the history know all rows of an inode in a table before they are deleted. Of a fork, those below it stay where they
// are: without the inode they mean nothing. That the inode itself is not there is said by hiding it, and so is that it shows a number no
// more.
func (w *writer) keepInode(k *database.Kept, ino Ino, hide bool) error {
	if !hide {
		return w.keepRows(k.DeleteAll, ino)
	}
	if err := w.keepDeleted(k, ino); err != nil {
		return err
	}
	return w.hide(k, k.HideRow, ino)
}

// keep runs one of the statements of a single row, unless history needs no more of that. then is what an entry will lead to.
func (w *writer) keep(k *database.Kept, query string, then, ino Ino, more []any) error {
	if w.newest.ID == 0 || ino > w.newest.maxIno {
		return nil
	}
	row := keptRow{of: k, ino: ino}
	if len(k.Key) > 1 {
		switch second := more[0].(type) {
		case int64:
			row.number = second
		case string:
			row.name = second
		}
	}
	old := then != 0 && then <= w.newest.maxIno
	if w.kept.needsNoMore(w.newest.ID, row, old) {
		return nil
	}
	err := w.keepRows(query, ino, more...)
	switch {
	case err != nil:
	case w.Changes() > 0, k.Unconditional && query == k.Put, old:
		w.kept.note(w.newest.ID, row, inHistory)
	case k.Entry:
		w.kept.note(w.newest.ID, row, newerName)
	}
	return err
}

// keepRows runs a statement of [database.Kept].
func (w *writer) keepRows(query string, ino Ino, more ...any) error {
	if w.newest.ID == 0 || ino > w.newest.maxIno {
		return nil
	}
	return do(w.conn, query, append([]any{w.newest.ID, w.newest.maxIno, ino}, more...)...)
}

// keptRows says of which rows history needs to know no more before the next checkpoint, so that it is not asked about each again: a program
// that syncs often writes the same few rows each time.
type keptRows struct {
	checkpoint int64 // the newest one when all of them were noted
	rows       map[keptRow]need
}

// keptRow is a row by its key. The rest is a number or a name.
type keptRow struct {
	of     *database.Kept
	ino    Ino
	number int64
	name   string
}

// need is what history needs to know of a row.
type need uint8

const (
	inHistory need = iota + 1 // no more
	newerName                 // no more, unless this name is going to lead to an inode that was there at the checkpoint: since then, it has led to none
)

// maxKeptRows bounds them.
const maxKeptRows = 16 << 10

// needsNoMore tells whether history needs to know no more of a row. old says that it is a name that will lead to an inode of the
// checkpoint.
func (r *keptRows) needsNoMore(checkpoint int64, row keptRow, old bool) bool {
	if r.checkpoint != checkpoint {
		return false
	}
	n := r.rows[row]
	return n == inHistory || n == newerName && !old
}

func (r *keptRows) note(checkpoint int64, row keptRow, n need) {
	if r.checkpoint != checkpoint || len(r.rows) >= maxKeptRows || r.rows == nil {
		r.checkpoint, r.rows = checkpoint, map[keptRow]need{}
	}
	r.rows[row] = n
}

// forget is for when a transaction has failed in which some were noted.
func (r *keptRows) forget() { r.rows = nil }

// hideCut hides the content of a file from a chunk on.
var hideCut = database.KeptData.HideRows("u.ino=?1 AND u.chunk_index>=?2")

// hide has what is below a fork show no more. query is one of [database.Kept]; the first value is the number of an inode, but for what is
// of the host.
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
