package sqlvfs

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Place says, beside the writer, that an object of a workspace is elsewhere now: there it has what it had. No inode had its
// origin in it; one that was made since may, and then refers to the old place.
type Place struct {
	Tree    Tree
	Was, Is Origin
}

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
	if err != nil {
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
			tx.Refer(in, &now)
			done.Inodes = append(done.Inodes, ino)
			return nil
		})
		if err != nil && !errors.Is(err, ErrCorrupt) { // no session shows that one
			return err
		}
	}
	return tx.amendRemoved(c, made)
}

// amendRemoved writes down what the guest has removed since of objects that are elsewhere now: it has seen them in their old
// places, so they are not new to it in the others. made are inodes that were made since and have an origin.
func (tx *Tx) amendRemoved(c *Changes, made map[Ino]bool) error {
	dirs := maps.Clone(made)
	for i := range c.Inodes {
		if c.Inodes[i].SetOrigin {
			dirs[c.Inodes[i].Ino] = true
		}
	}
	var hidden []string          // paths of the host that directories hide, and have no entry of that was there before
	moved := map[string]bool{}   // paths that inodes come from which were made since,
	inPlace := map[string]bool{} // and those of them that they are still at
	for ino := range dirs {
		err := tx.withLive(ino, func(in *Inode) error {
			o := in.Origin
			if o == nil || in.Attr.Nlink == 0 {
				return nil
			}
			if made[ino] {
				moved[o.Path] = true
			}
			if !in.Attr.IsDir() {
				return nil
			}
			names, err := tx.Whiteouts(in)
			for _, name := range names {
				if e, ok := in.children[name]; !ok || e.ino >= c.FirstIno {
					hidden = append(hidden, path.Join(o.Path, name))
				}
			}
			for name, e := range in.children {
				if at := path.Join(o.Path, name); made[e.ino] && err == nil {
					err = tx.withLive(e.ino, func(c *Inode) error {
						inPlace[at] = c.Origin != nil && c.Origin.Path == at
						return nil
					})
				}
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrCorrupt) { // no session shows that one
			return err
		}
	}
	places := map[string]*Place{}
	for i := range c.Places {
		places[c.Places[i].Is.Path] = &c.Places[i]
	}
	sorted := slices.Sorted(maps.Keys(places))
	for _, at := range hidden {
		if p := places[at]; p != nil && !movedAway(at, moved, inPlace) {
			tx.addSeen(p)
		}
		for i, _ := slices.BinarySearch(sorted, at+"/"); i < len(sorted) && strings.HasPrefix(sorted[i], at+"/"); i++ {
			if !movedAway(sorted[i], moved, inPlace) {
				tx.addSeen(places[sorted[i]])
			}
		}
	}
	return nil
}

// movedAway tells whether what came from a path, or from one above it, is somewhere else, and not removed.
func movedAway(at string, moved, inPlace map[string]bool) bool {
	for ; at != "."; at = path.Dir(at) {
		if moved[at] && !inPlace[at] {
			return true
		}
	}
	return false
}

// addSeen writes down that the guest has seen what is in a place.
func (tx *Tx) addSeen(p *Place) {
	tx.AddBaseline(p.Tree, p.Is.Path, &Baseline{Mode: p.Is.Mode, Fingerprint: p.Is.Fingerprint, RowCtime: Now()})
}

// had tells whether an origin is of the version that is elsewhere now. A directory is the same whatever was made in it.
func (p *Place) had(o *Origin, dir bool) bool {
	was := &p.Was.Fingerprint
	if dir {
		return o.Dev == was.Dev && o.Fingerprint.Ino == was.Ino
	}
	return o.Fingerprint == *was
}
