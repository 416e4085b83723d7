package sqlvfs

import (
	"slices"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// ChangedAfter returns the latest checkpoint before this moment after which an inode, or one of the names on a way to it, may have become
// what it is here; nil: history knows of none. All of the way are rows, and what it leads to shows from the host if ino is 0.
func (m *Moment) ChangedAfter(way []NameIn, ino Ino) (*Checkpoint, error) {
	now := int64(maxCheckpoint)
	if m.at != nil {
		now = m.at.ID
	}
	all, err := m.s.tx.checkpoints()
	if err != nil {
		return nil, err
	}
	last, made := int64(0), ino
	note := func(query string, key ...any) {
		if err == nil {
			var id int64
			if id, err = queryNumber(m.s.tx.meta, query, append(key, now)...); err == nil {
				last = max(last, id)
			}
		}
	}
	for _, k := range database.AllKept {
		latest := "SELECT ifnull(max(checkpoint), 0) FROM main." + k.Old + " WHERE "
		switch {
		case k == database.KeptDentry || k == database.KeptWhiteout:
			for _, n := range way {
				note(latest+"parent_ino=? AND name=? AND checkpoint<?", n.Dir, n.Name)
			}
		case k.Key[0] == "ino":
			note(latest+"ino=? AND checkpoint<?", ino)
		}
	}
	for _, n := range way {
		made = max(made, n.Dir)
	}
	i := slices.IndexFunc(all, func(c Checkpoint) bool { return c.ID < now && (c.ID == last || c.maxIno < made) })
	if err != nil || i < 0 {
		return nil, err
	}
	return &all[i], nil
}

// Sessions returns the log, as [Store.Sessions].
func (m *Moment) Sessions() ([]Session, error) { return m.s.tx.sessions() }
