package sqlvfs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// An object of the host's has no inode number of ours until the guest changes it, and may get another one when it is changed again. By its
// place on the host it is known all the same: a tree shows it where the host has it, or below a directory that has come from above it, or
// where the row is whose origin it is. Going back for a part must neither take it away, since it came into the part from elsewhere, nor
// show it twice, since it has left the part: with the first, a pull would remove it on the host.

// spot is where a side shows an object of the host's.
type spot struct {
	in   bool   // the part
	ino  Ino    // its row, or that of the nearest directory above it that has one
	rest string // its path below that
}

// keepObjects returns [ErrMoved] if an object of the host's is in the part on one side only, and elsewhere on the other.
func (p *part) keepObjects() error {
	objects, err := p.changedObjects()
	if err != nil {
		return err
	}
	var moved []hostPlace
	for _, o := range objects {
		then, err := p.then.hasInPlace(o)
		if err != nil {
			return err
		}
		now, err := p.now.hasInPlace(o)
		if err != nil {
			return err
		}
		if !then || !now {
			moved = append(moved, o)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	for _, s := range []*side{p.then, p.now} {
		if err := s.loadRowsOf(moved); err != nil {
			return err
		}
	}
	for _, o := range moved {
		if err := p.keepObject(o); err != nil {
			return err
		}
	}
	return nil
}

// keepObject is keepObjects for one of them.
func (p *part) keepObject(o hostPlace) error {
	then, err := p.spots(p.then, o)
	if err != nil {
		return err
	}
	now, err := p.spots(p.now, o)
	if err != nil {
		return err
	}
	in, out := func(s spot) bool { return s.in }, func(s spot) bool { return !s.in }
	comes, stays := slices.IndexFunc(then, in), slices.IndexFunc(now, out)
	switch {
	case len(then) == 0 || len(now) == 0:
		return nil // it was made, or deleted
	case comes < 0 && stays < 0:
		return p.movedTo(p.now, now[0], "was", p.then, then[0], "then")
	case comes >= 0 && stays >= 0 && !slices.ContainsFunc(then, out) && !slices.ContainsFunc(now, in):
		return p.movedTo(p.then, then[comes], "is", p.now, now[stays], "now")
	}
	return nil
}

// movedTo is the error of what is at a spot of the part on one side, and at one outside of it on the other.
func (p *part) movedTo(inside *side, in spot, verb string, outside *side, out spot, when string) error {
	here, err := inside.pathOf(in)
	if err != nil {
		return err
	}
	there, err := outside.pathOf(out)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s %s %s %s: %w", here, verb, there, when, ErrMoved)
}

// changedObjects returns the objects of the host's that may be in the part on one side, and that a side has a row of which the other has
// not, or that a path of the part leads to on one side only.
func (p *part) changedObjects() ([]hostPlace, error) {
	then, err := p.then.originsOf(`SELECT h.ino, (SELECT name FROM art_base b WHERE b.id=h.base), h.path FROM art_old_origin h WHERE h.there=1 AND h.ino<=?2
		AND h.checkpoint=(SELECT min(x.checkpoint) FROM art_old_origin x WHERE x.ino=h.ino AND x.checkpoint>=?1)`, p.to.ID, p.to.maxIno)
	if err != nil {
		return nil, err
	}
	now, err := p.now.originsOf(`SELECT o.ino, (SELECT name FROM art_base b WHERE b.id=o.base), o.path FROM main.art_origin o
		WHERE o.ino>?2 OR o.ino IN (SELECT h.ino FROM art_old_origin h WHERE h.checkpoint>=?1)`, p.to.ID, p.to.maxIno)
	if err != nil {
		return nil, err
	}
	part := map[hostPlace]bool{} // what of the host's is in the part, with all below that
	for _, s := range []*side{p.then, p.now} {
		for ino, i := range s.seen {
			if !i.dir || len(i.names) == 0 {
				continue
			}
			dir, err := s.row(ino)
			if err != nil {
				return nil, err
			}
			if dir != nil && dir.origin != nil {
				part[*dir.origin] = true
			}
		}
	}
	objects := map[hostPlace]bool{}
	for i := range p.links {
		if l := &p.links[i]; !l.same() {
			for _, f := range []*found{&l.then, &l.now} {
				if f.ino == 0 && f.place != nil {
					objects[*f.place], part[*f.place] = true, true
				}
			}
		}
	}
	for s, origins := range map[*side]map[Ino]hostPlace{p.then: then, p.now: now} {
		other := now
		if s == p.now {
			other = then
		}
		for ino, o := range origins {
			if other[ino] != o && !objects[o] && (len(s.of(ino).names) > 0 || o.below(part)) {
				objects[o] = true
			}
		}
	}
	list := make([]hostPlace, 0, len(objects))
	for o := range objects {
		list = append(list, o)
	}
	slices.SortFunc(list, hostPlace.compare)
	return list, nil
}

// below tells whether a place is one of some, or below one.
func (p hostPlace) below(places map[hostPlace]bool) bool {
	for !places[p] {
		if p.path == "." {
			return false
		}
		p.path = path.Dir(p.path)
	}
	return true
}

// originsOf returns origins, by inode, of which a query has the inode, the name of the workspace, and the path there.
func (s *side) originsOf(query string, values ...any) (map[Ino]hostPlace, error) {
	all := map[Ino]hostPlace{}
	err := s.each(query, func(q *sqlite3.Stmt) {
		o := hostPlace{string(q.ColumnRawText(1)), string(q.ColumnRawBlob(2))}
		if len(o.path) <= deepest && database.ValidPath(o.path) { // else it is no object's
			all[Ino(q.ColumnInt64(0))] = o
		}
	}, values...)
	return all, err
}

// hasInPlace tells whether the side shows an object of the host's where the host has it.
func (s *side) hasInPlace(o hostPlace) (bool, error) {
	is, err := s.followPlace(o)
	if err != nil {
		return false, err
	}
	if is.ino == 0 {
		return !is.hidden && is.place != nil && *is.place == o, nil
	}
	return is.origin != nil && *is.origin == o || is.place != nil && *is.place == o, nil
}

// followPlace returns what the path leads to that an object of the host's would be at.
func (s *side) followPlace(o hostPlace) (*found, error) {
	if is := s.natural[o]; is != nil {
		return is, nil
	}
	above, name := &found{ino: RootIno, dir: true}, o.base
	if o.path != "." {
		dir, last := path.Split(o.path)
		var err error
		if above, err = s.followPlace(hostPlace{o.base, path.Clean(dir)}); err != nil {
			return nil, err
		}
		name = last
	}
	is, err := s.child(above, name)
	if err == nil {
		s.natural[o] = is
	}
	return is, err
}

// loadRowsOf finds the rows that have some objects of the host's as their origin, or a directory above these.
func (s *side) loadRowsOf(objects []hostPlace) error {
	s.rowsOf = map[hostPlace][]Ino{}
	for _, o := range objects {
		for {
			if _, known := s.rowsOf[o]; known {
				break
			}
			s.rowsOf[o] = nil
			if o.path == "." {
				break
			}
			o.path = path.Dir(o.path)
		}
	}
	for o := range s.rowsOf {
		if o.path != "." {
			continue
		}
		// That of a workspace which was pushed has no origin.
		if is, err := s.followPlace(o); err != nil {
			return err
		} else if is.ino != 0 && is.origin == nil && is.place != nil {
			s.rowsOf[o] = append(s.rowsOf[o], is.ino)
		}
	}
	// No index has the paths of origins, or the inodes that names lead to: look through all of them once.
	var all []Ino
	err := s.each("SELECT o.ino, (SELECT name FROM art_base b WHERE b.id=o.base), o.path FROM {art_origin} o", func(q *sqlite3.Stmt) {
		o := hostPlace{string(q.ColumnRawText(1)), string(q.ColumnRawBlob(2))}
		if list, wanted := s.rowsOf[o]; wanted {
			ino := Ino(q.ColumnInt64(0))
			s.rowsOf[o], all = append(list, ino), append(all, ino)
		}
	})
	if err != nil {
		return err
	}
	s.named = map[Ino]bool{RootIno: true}
	return s.each("SELECT ino FROM {fs_dentry} WHERE ino IN (SELECT value FROM json_each(?))", func(q *sqlite3.Stmt) {
		s.named[Ino(q.ColumnInt64(0))] = true
	}, numbers(all))
}

// spots returns where a side shows an object of the host's.
func (p *part) spots(s *side, o hostPlace) (list []spot, err error) {
	for _, ino := range s.rowsOf[o] {
		in := len(s.of(ino).names) > 0
		if !in && !s.named[ino] { // a file of the host that has several names there may have none here
			continue
		}
		list = append(list, spot{in, ino, ""})
	}
	within := func(dir Ino, rest string) error {
		name, _, _ := strings.Cut(rest, "/")
		for _, q := range []string{"SELECT 1 FROM {fs_dentry} WHERE parent_ino=? AND name=?", "SELECT 1 FROM {art_whiteout} WHERE parent_ino=? AND name=?"} {
			hidden := false
			if err := s.each(q, func(*sqlite3.Stmt) { hidden = true }, dir, name); err != nil || hidden {
				return err
			}
		}
		if s == p.now {
			if replaced, err := p.replacedSince(o); err != nil || replaced {
				return err
			}
		}
		in := len(s.of(dir).names) > 0
		if way, ok := s.way[dir]; ok && !in {
			at := path.Join(way, rest)
			in = slices.ContainsFunc(p.paths, func(top string) bool { return at == top || strings.HasPrefix(at, top+"/") })
		}
		list = append(list, spot{in, dir, rest})
		return nil
	}
	rest := ""
	for at := o.path; at != "."; {
		dir, name := path.Dir(at), path.Base(at)
		at, rest = dir, path.Join(name, rest)
		for _, ino := range s.rowsOf[hostPlace{o.base, dir}] {
			if err := within(ino, rest); err != nil {
				return nil, err
			}
		}
	}
	return list, within(RootIno, path.Join(o.base, o.path))
}

// replacedSince tells whether a pull has since replaced or removed on the host what was at a place there: what is there now is another
// object.
func (p *part) replacedSince(o hostPlace) (bool, error) {
	for {
		n, err := queryNumber(p.w.conn, `SELECT EXISTS (SELECT 1 FROM art_old_baseline h JOIN art_tree t ON t.id=h.tree
			WHERE t.name=? AND h.path=? AND h.checkpoint>=? AND h.replaced=1)`, o.base, []byte(o.path), p.to.ID)
		if err != nil || n != 0 || o.path == "." {
			return n != 0, err
		}
		o.path = path.Dir(o.path)
	}
}

// namesOf finds the names of an inode.
func (s *side) namesOf(ino Ino) (names []NameIn, err error) {
	err = s.each("SELECT parent_ino, name FROM {fs_dentry} WHERE ino=?", func(q *sqlite3.Stmt) {
		names = append(names, NameIn{Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1))})
	}, ino)
	return names, err
}

// pathOf returns a path of what is at a spot.
func (s *side) pathOf(at spot) (string, error) {
	if names := s.of(at.ino).names; len(names) > 0 {
		return path.Join(least(names), at.rest), nil
	}
	above, err := s.pathTo(at.ino)
	return path.Join(above, at.rest), err
}
