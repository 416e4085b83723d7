package sqlvfs

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// makeIndependent gives a copy of a fork, which nobody else has open, all that it reads from its parent. It does nothing to what is no
// fork. Whether that survives a power cut is the caller's care.
func makeIndependent(file string) error {
	c, err := database.Connect(file, sqlite3.OPEN_READWRITE, database.HostFiles)
	if err != nil {
		return err
	}
	defer c.Close()
	stack, err := database.Descend(c.Conn)
	if err != nil || !stack.Forked() {
		return err
	}
	if err := c.Exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF"); err != nil {
		return err
	}
	if err := stack.Overlay(c, database.Everything...); err != nil {
		return err
	}
	if err := c.Exec("BEGIN"); err != nil {
		return err
	}
	for _, k := range database.Everything {
		if k.Apart {
			continue
		}
		for _, text := range k.Independence() {
			if err := c.Exec(text); err != nil {
				return fmt.Errorf("copy %s of %s: %w", k.Table, stack.Parents[0].Path, err)
			}
		}
	}
	if forks, err := database.Has(c.Conn, "art_fork"); err != nil {
		return err
	} else if forks {
		for _, key := range mergeKeys(stack.Parents[0].Secret) {
			if err := do(c, "DELETE FROM main.art_fork WHERE secret=?", key); err != nil {
				return err
			}
		}
	}
	return c.Exec("DROP TABLE main.art_hidden; DROP TABLE main.art_parent; COMMIT; PRAGMA main.journal_mode=WAL")
}
