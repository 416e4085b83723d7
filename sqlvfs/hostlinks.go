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
