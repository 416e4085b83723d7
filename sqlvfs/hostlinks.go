package sqlvfs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A file that has several names on the host has one row for all of them. Entries lead to it by some, the host shows it by the others, and
// it counts both. A part that has a name of the second kind come or go while the row stays as it is, or the other way round, would have it
// count wrong: it would be gone with its content while it has names.

// addLinked adds inodes by names of which only the host can tell that they lead there. One that is another than it was goes back by all the
// names that it has, now or then.
func (p *part) addLinked(list []LinkedName) error {
	names, beyond := map[Ino]map[string]bool{}, map[Ino]int64{}
	for _, l := range list {
		then, err := p.then.follow(l.Path)
		if err != nil {
			return err
		}
		now, err := p.now.follow(l.Path)
		if err != nil {
			return err
		}
		was, is := &then[len(then)-1], &now[len(now)-1]
		row, err := p.now.row(Ino(l.Ino))
		switch {
		case err != nil:
			return err
		case row == nil || row.dir || row.origin == nil || is.place == nil || is.ino != 0 || row.origin.base != is.place.base:
			return fmt.Errorf("%s: %w", l.Path, ErrNotThere)
		case was.ino != 0 || !was.place.same(is.place):
			return fmt.Errorf("%s: %w", l.Path, ErrParent)
		}
		if names[Ino(l.Ino)] == nil {
			names[Ino(l.Ino)] = map[string]bool{}
		}
		names[Ino(l.Ino)][l.Path] = true
		beyond[Ino(l.Ino)] = l.Beyond
	}
	for _, ino := range slices.Sorted(maps.Keys(names)) {
		if err := p.addByNames(ino, names[ino], beyond[ino]); err != nil {
			return fmt.Errorf("%s: %w", least(names[ino]), err)
		}
	}
	return nil
}

// addByNames is addLinked for an inode. Nobody sees here what names it has beyond these.
func (p *part) addByNames(ino Ino, names map[string]bool, beyond int64) error {
	as := &seen{names: names}
	if same, err := p.same(ino, as, as); err != nil || same {
		return err
	}
	there := 0
	for _, s := range []*side{p.then, p.now} {
		links := int64(-1)
		err := s.each("SELECT nlink FROM {fs_inode} WHERE ino=?", func(q *sqlite3.Stmt) { links = q.ColumnInt64(0) }, ino)
		if err != nil {
			return err
		}
		if links <= 0 {
			continue
		}
		there++
		entries, err := s.namesOf(ino)
		if err != nil {
			return err
		}
		i := s.seen[ino]
		if i == nil {
			i = &seen{links: links, names: map[string]bool{}, keys: map[NameIn]bool{}}
			s.seen[ino] = i
		}
		for at := range names {
			i.names[at] = true
		}
		if links != int64(len(entries)+len(names))+beyond {
			return ErrOtherNames
		}
		// Where the host's is to show again, it shows only if the inode goes.
		if k := slices.IndexFunc(entries, func(key NameIn) bool { return !i.keys[key] }); k >= 0 && s == p.now && there == 1 {
			return p.now.isAlso(i, &seen{others: entries[k:]}, "is %s now")
		}
	}
	p.paths = append(p.paths, slices.Sorted(maps.Keys(names))...)
	return nil
}

// findLinks are the files with a row, and the places on the host that are or were names of theirs: what was hidden has a baseline.
const findLinks = `WITH place(base, dev, base_ino, path) AS (
		SELECT t.name, b.dev, b.base_ino, b.path FROM art_baseline b JOIN art_tree t ON t.id=b.tree
		UNION SELECT t.name, h.dev, h.base_ino, h.path FROM art_old_baseline h JOIN art_tree t ON t.id=h.tree WHERE h.there=1),
	file(ino, base, dev, base_ino, path, nlink) AS (
		SELECT o.ino, b.name, o.dev, o.base_ino, o.path, i.nlink FROM {art_origin} o JOIN art_base b ON b.id=o.base JOIN {fs_inode} i ON i.ino=o.ino
		WHERE i.mode & 0xf000 = 0x8000)
	SELECT f.ino, f.base, p.path FROM file f JOIN place p ON p.base=f.base AND p.dev=f.dev AND p.base_ino=f.base_ino
	UNION SELECT ino, base, path FROM file WHERE nlink>1 OR ino NOT IN (SELECT ino FROM {fs_dentry})`

// keepLinks returns [ErrMoved] if the names that a file has on the host and its row would not go back together.
func (p *part) keepLinks() error {
	names := map[Ino]map[hostPlace]bool{}
	var places []hostPlace
	for _, s := range []*side{p.then, p.now} {
		err := s.each(findLinks, func(q *sqlite3.Stmt) {
			ino, o := Ino(q.ColumnInt64(0)), hostPlace{string(q.ColumnRawText(1)), string(q.ColumnRawBlob(2))}
			if len(o.path) > deepest || !database.ValidPath(o.path) || names[ino][o] {
				return
			}
			if names[ino] == nil {
				names[ino] = map[hostPlace]bool{}
			}
			names[ino][o] = true
			places = append(places, o)
		})
		if err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	for _, s := range []*side{p.then, p.now} {
		if err := s.loadRowsOf(places); err != nil {
			return err
		}
	}
	for _, ino := range slices.Sorted(maps.Keys(names)) {
		if err := p.keepNames(ino, slices.SortedFunc(maps.Keys(names[ino]), hostPlace.compare)); err != nil {
			return err
		}
	}
	return nil
}

// keepNames is keepLinks for one of them.
func (p *part) keepNames(ino Ino, names []hostPlace) error {
	_, goes := p.rows[ino]
	of := p.now
	if goes {
		of = p.then
	}
	if row, err := of.row(ino); err != nil || row == nil {
		return err
	}
	more, differs := 0, "" // names of the host's that it does not count, and one that is on one side only
	own, err := p.rowName(of, ino, goes)
	if err != nil {
		return err
	}
	for _, o := range names {
		if replaced, err := p.replacedSince(o); err != nil {
			return err
		} else if replaced {
			continue // what is there now is another one
		}
		var count [2]int
		var at [2]string
		for i, s := range []*side{p.then, p.now} {
			spots, err := p.spots(s, o)
			if err != nil {
				return err
			}
			for _, is := range spots {
				if is.rest == "" { // it is an entry
					continue
				}
				name, err := s.pathOf(is)
				switch {
				case err != nil:
					return err
				case is.in != goes:
					count[i]++
					at[i] = name
				case s == of && own == "":
					own = name
				}
			}
		}
		if count[0] != count[1] {
			differs = max(at[0], at[1])
		}
		more += count[0] - count[1]
	}
	if more == 0 || own == "" {
		return nil
	}
	return fmt.Errorf("%s and %s are names of one file: %w", min(differs, own), max(differs, own), ErrMoved)
}

// rowName returns a path of an inode on a side, in the part or outside.
func (p *part) rowName(s *side, ino Ino, in bool) (string, error) {
	if in {
		return least(s.of(ino).names), nil
	}
	names, err := s.namesOf(ino)
	for _, key := range names {
		if err == nil && !s.of(ino).keys[key] {
			return s.pathAt(key)
		}
	}
	return "", err
}

func (p hostPlace) compare(q hostPlace) int {
	return cmp.Or(strings.Compare(p.base, q.base), strings.Compare(p.path, q.path))
}
