package sqlvfs

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// Place says, beside the writer, that an object of a workspace is elsewhere now: there it has what it had. No inode had its
// origin in it; one that was made since may, and then refers to the old place.
type Place struct{ Was, Is Origin }

// SetPlace gathers a place beside the writer.
func (tx *Tx) SetPlace(p Place) {
	if tx.frozen {
		tx.begin()
		tx.gather.places = append(tx.gather.places, p)
	}
}

// amendPlaces has inodes that were made since changes were gathered refer to the new places of objects.
func (tx *Tx) amendPlaces(c *Changes, done *Amended) error {
	if len(c.Places) == 0 {
		return nil
	}
	made := map[Ino]bool{}
	for ino, in := range tx.live {
		if ino >= c.FirstIno && in.Origin != nil && !in.dead {
			made[ino] = true
		}
	}
	err := tx.each("SELECT ino FROM art_origin WHERE ino>=?", func(q *sqlite3.Stmt) {
		if ino := Ino(q.ColumnInt64(0)); tx.live[ino] == nil {
			made[ino] = true
		}
	}, c.FirstIno)
	if err != nil || len(made) == 0 {
		return err
	}
	type place struct{ base, path string }
	places := map[place]*Place{}
	for i := range c.Places {
		p := &c.Places[i]
		places[place{p.Was.Base, p.Was.Path}] = p
	}
	for ino := range made {
		err := tx.withLive(ino, func(in *Inode) error {
			o := in.Origin
			if o == nil || in.Attr.Nlink == 0 { // who has it open has the object in its old place
				return nil
			}
			p := places[place{o.Base, o.Path}]
			if p == nil || !p.had(o, in.Attr.IsDir()) {
				return nil
			}
			now := *o
			now.Base, now.Path, now.Fingerprint, now.Mode = p.Is.Base, p.Is.Path, p.Is.Fingerprint, p.Is.Mode
			tx.SetOrigin(in, &now)
			done.Inodes = append(done.Inodes, ino)
			return nil
		})
		if err != nil && !errors.Is(err, ErrCorrupt) { // no session shows that one
			return err
		}
	}
	return nil
}

// had tells whether an origin is of the version that is elsewhere now. A directory is the same whatever was made in it.
func (p *Place) had(o *Origin, dir bool) bool {
	was := &p.Was.Fingerprint
	if dir {
		return o.Dev == was.Dev && o.Fingerprint.Ino == was.Ino
	}
	return o.Fingerprint == *was
}
