package sqlvfs

import (
	"errors"
	"syscall"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// staleAfter is for how long a read-only store may show what was true before the writer's last
// commit.
const staleAfter = time.Second

// refresh reloads an inode of a read-only store when a writer has changed the database since it
// was loaded.
func (tx *Tx) refresh(in *Inode) error {
	if !tx.readOnly {
		return nil
	}
	if time.Since(tx.looked) > staleAfter {
		v, err := database.PragmaInt(tx.meta.Conn, "data_version")
		if err != nil {
			return err
		}
		if v != tx.version {
			tx.version = v
			tx.epoch++
		}
		tx.looked = time.Now()
	}
	if in.epoch == tx.epoch {
		return nil
	}
	in.Origin = nil
	tx.drop(in)
	err := tx.load(in)
	if errors.Is(err, ErrNotExist) {
		return syscall.ESTALE
	}
	return err
}

// Refresh makes sure that an inode's fields are not older than a second when another process
// writes to the database.
func (tx *Tx) Refresh(in *Inode) error { return tx.refresh(in) }
