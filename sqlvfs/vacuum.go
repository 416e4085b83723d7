package sqlvfs

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
)

// What a deletion leaves free in the file is used again, but only a VACUUM gives it back to the disk:
// the means to give back single pages (auto_vacuum) is one that other tools damage the file with. A
// VACUUM copies all that is left, so it is made when that is less than what it gives back: over a
// file's life, no more is copied than was deleted.

const (
	shrinkFrom = 16 << 20 // free space that is worth giving back, in bytes
	// While nothing happens, a VACUUM is made if what is left can be copied in a moment, in bytes. Else
	// it waits for the end of the session.
	shrinkIdly    = 64 << 20
	maintainAfter = 2 * time.Second
)

// shrink gives free space back to the disk if there is much of it, and no more than most bytes are
// left. If that fails, for want of room for the copy for one, everything stays as it is; what else is
// wrong with the disk, the next transaction tells.
func (w *writer) shrink(most int64) {
	free, err := database.PragmaInt(w.Conn, "freelist_count")
	all, allErr := database.PragmaInt(w.Conn, "page_count")
	free, left := free*int64(w.pageSize), (all-free)*int64(w.pageSize)
	if err != nil || allErr != nil || free < shrinkFrom || free < left || left > most || w.store.scratch == nil {
		return
	}
	w.awaitCheckpoint()
	if diskvfs.WithScratch(w.store.scratch, func() error { return w.Exec("VACUUM") }) == nil {
		w.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	}
}
