package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Errors of going back for some paths only, each with the path that it is about.
var (
	ErrNotThere = errors.New("the guest had nothing of its own there, and has nothing there now")
	ErrParent   = errors.New("it is not the directory that it was: go back for that as well")
	ErrMoved    = errors.New("go back for both")
	// ErrOtherNames is of a file of the host.
	ErrOtherNames = errors.New("it has other names on the host: go back for all of them")
	ErrDeep       = errors.New("what is below it is too deep to go back by itself")
)

// part is the part of the tree that goes back when paths are given: what they lead to now, and what they led to at the checkpoint. Each is
// a name in a directory that is there now, and a tree below that. What goes back is all entries of directories of these trees, and all rows
// of their inodes. An inode that has a name elsewhere too, now or then, goes back only if nobody sees that there.
type part struct {
	w         *writer
	to        *Checkpoint
	then, now *side

	paths []string
	links []link
	rows  map[Ino]bool  // inodes whose rows go back, and whether all entries in them do
	came  bool          // it has an inode that it did not have then
	fewer map[Ino]int64 // how many names less a file has than its row says, when all has gone back
}

// link is a name that is to lead to what it led to then.
type link struct {
	dir       Ino
	name      string
	then, now found
	hide      bool // the host's entry, if there is one, is not to show
}

// same tells whether the name leads where it led.
func (l *link) same() bool {
	return l.then.ino == l.now.ino && l.then.place.same(l.now.place) && l.hide == l.now.hidden
}

// partOf finds out what of the tree goes back, and that it can.
func (w *writer) partOf(to *Checkpoint, paths []string, linked []LinkedName) (p *part, err error) {
	p = &part{w: w, to: to, then: newSide(w, to), now: newSide(w, nil), rows: map[Ino]bool{}, fewer: map[Ino]int64{}}
	defer p.then.close()
	defer p.now.close()
	sorted := slices.Sorted(slices.Values(paths))
	for _, at := range sorted {
		if slices.ContainsFunc(p.paths, func(above string) bool { return at == above || strings.HasPrefix(at, above+"/") }) {
			continue
		}
		p.paths = append(p.paths, at)
		if err = p.add(at); err != nil {
			break
		}
	}
	if err == nil {
		err = p.addLinked(linked)
	}
	if err == nil {
		err = p.sort()
	}
	if err == nil {
		err = p.keepObjects()
	}
	if err == nil {
		err = p.keepLinks()
	}
	if err == nil {
		err = p.mark()
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %d: %w", to.ID, err)
	}
	return p, nil
}

// add adds what a path leads to.
func (p *part) add(at string) error {
	then, err := p.then.follow(at)
	if err != nil {
		return err
	}
	now, err := p.now.follow(at)
	if err != nil {
		return err
	}
	names := strings.Split(at, "/")
	last := len(names)
	for i := range last {
		p.then.way[then[i].ino], p.now.way[now[i].ino] = path.Join(names[:i]...), path.Join(names[:i]...)
	}
	l := link{name: names[last-1], then: then[last], now: now[last]}
	if l.then.ino == 0 && l.now.ino == 0 && l.then.place.same(l.now.place) {
		return fmt.Errorf("%s: %w", at, ErrNotThere)
	}
	for i := 1; i < last; i++ {
		if err := p.bringDir(then[i], &now[i], link{dir: now[i-1].ino, name: names[i-1]}); err != nil {
			return fmt.Errorf("%s: %w", path.Join(names[:i]...), err)
		}
	}
	// Where the host's shows, it must be the host's directory still.
	dir := now[last-1]
	if dir.ino == 0 || !dir.dir || l.then.ino == 0 && l.then.place != nil && !dir.place.same(then[last-1].place) {
		return fmt.Errorf("%s: %w", cmp.Or(path.Join(names[:last-1]...), "/"), ErrParent)
	}
	l.dir, l.hide = dir.ino, l.then.nothing() && dir.place != nil
	p.links = append(p.links, l)
	if err := p.then.walk(l.then, NameIn{then[last-1].ino, l.name}, at); err != nil {
		return err
	}
	return p.now.walk(l.now, NameIn{l.dir, l.name}, at)
}

// bringDir has a directory of the host's on the way have the row again that it had, without entries.
func (p *part) bringDir(then found, now *found, l link) error {
	if now.ino != 0 || then.ino == 0 || !then.dir || now.place == nil || !now.place.same(then.place) {
		return nil
	}
	if there, err := p.now.row(then.ino); err != nil || there != nil {
		return cmp.Or(err, ErrParent)
	}
	if _, known := p.rows[then.ino]; !known {
		p.rows[then.ino] = false
		l.then, l.now = then, *now
		p.links = append(p.links, l)
	}
	*now = then
	return nil
}

// sort decides for each inode of the part whether its rows go back.
func (p *part) sort() error {
	inodes := maps.Clone(p.then.seen)
	maps.Copy(inodes, p.now.seen)
	for _, s := range []*side{p.then, p.now} {
		if err := s.findOthers(inodes); err != nil {
			return err
		}
	}
	for _, ino := range slices.Sorted(maps.Keys(inodes)) {
		then, now := p.then.of(ino), p.now.of(ino)
		p.came = p.came || len(then.names) == 0
		switch {
		case len(then.names) > 0 && len(now.others) > 0:
			if same, err := p.same(ino, then, now); err != nil || !same {
				return cmp.Or(err, p.now.isAlso(then, now, "is %s now"))
			}
			continue // it is what it was, here and there
		case len(then.names) > 0:
			p.fewer[ino] = int64(len(then.others))
		case len(now.others) > 0:
			p.fewer[ino] = int64(len(now.names))
			continue // it stays there
		case len(then.others) > 0:
			return p.then.isAlso(now, then, "was %s then")
		}
		p.rows[ino] = true
	}
	return nil
}

// same tells whether a file of the part is what it was, by the same names, but for those elsewhere.
func (p *part) same(ino Ino, then, now *seen) (bool, error) {
	if then.dir || now.dir || !maps.Equal(then.names, now.names) {
		return false, nil
	}
	a, err := p.then.attributes(ino)
	if err != nil {
		return false, err
	}
	b, err := p.now.attributes(ino)
	if err != nil || a != b {
		return false, err
	}
	for _, k := range []*database.Kept{database.KeptData, database.KeptSymlink, database.KeptXattr, database.KeptOrigin} {
		n, err := queryNumber(p.w.conn, "SELECT EXISTS (SELECT 1 FROM "+k.Old+" WHERE ino=? AND checkpoint>=?)", ino, p.to.ID)
		if err != nil || n != 0 {
			return false, err
		}
	}
	return true, nil
}

// changes tells whether anything of the part is not what it was.
func (p *part) changes() (bool, error) {
	if p.came || slices.ContainsFunc(p.links, func(l link) bool { return !l.same() }) {
		return true, nil
	}
	q := "SELECT 0"
	for _, k := range database.AllKept {
		q += " OR EXISTS (SELECT 1 FROM " + k.Old + " o LEFT JOIN " + k.Table + " p ON " + k.Equal("p", "o") +
			" WHERE o.checkpoint=(SELECT min(x.checkpoint) FROM " + k.Old + " x WHERE " + k.Equal("x", "o") + " AND x.checkpoint>=?1)" + within(k, "o.", true) + " AND (" + k.Another("o", "p", "?2") + "))"
	}
	n, err := queryNumber(p.w.conn, q, p.to.ID, p.to.maxIno)
	return n != 0, err
}

// mark has the connection's table know the part.
func (p *part) mark() error {
	if err := p.w.Exec("CREATE TEMP TABLE IF NOT EXISTS art_part (ino INTEGER PRIMARY KEY, names INTEGER NOT NULL); DELETE FROM temp.art_part"); err != nil {
		return err
	}
	for _, ino := range slices.Sorted(maps.Keys(p.rows)) {
		if err := do(p.w.conn, "INSERT INTO temp.art_part VALUES (?, ?)", ino, p.rows[ino]); err != nil {
			return err
		}
	}
	return nil
}

// within is a condition: that a row is of the part that goes back, if only one does.
func within(k *database.Kept, prefix string, part bool) string {
	switch {
	case !part:
		return ""
	case k.Entry || k == database.KeptWhiteout:
		return " AND " + prefix + k.Key[0] + " IN (SELECT ino FROM temp.art_part WHERE names=1)"
	}
	return " AND " + prefix + k.Key[0] + " IN (SELECT ino FROM temp.art_part)"
}

// relink has the names of the part lead to what they have led to, after the rows have come back.
func (p *part) relink() error {
	for i := range p.links {
		l := &p.links[i]
		if l.same() {
			continue
		}
		key := []any{p.w.newest.ID, p.w.newest.maxIno, l.dir, l.name}
		for _, k := range []*database.Kept{database.KeptDentry, database.KeptWhiteout} {
			if err := do(p.w.conn, k.PutAll("(SELECT ?3 AS parent_ino, ?4 AS name)"), key...); err != nil {
				return err
			}
			if err := p.w.dropRow(k, l.dir, l.name); err != nil {
				return err
			}
		}
		var err error
		switch {
		case l.then.ino != 0:
			err = do(p.w.conn, "INSERT INTO main.fs_dentry (parent_ino, name, ino) VALUES (?, ?, ?)", l.dir, l.name, l.then.ino)
		case l.hide:
			err = do(p.w.conn, "INSERT INTO main.art_whiteout (parent_ino, name) VALUES (?, ?)", l.dir, l.name)
		}
		if err == nil {
			err = p.touch(l)
		}
		if err != nil {
			return err
		}
	}
	for ino, n := range p.fewer {
		if n == 0 {
			continue
		}
		if err := p.change(ino, "nlink=max(nlink-?2, 1)", n); err != nil {
			return err
		}
	}
	return nil
}

// touch notes in a directory that an entry of it has changed. One that has its row again knows what it had then.
func (p *part) touch(l *link) error {
	if _, known := p.rows[l.dir]; known {
		return nil
	}
	delta := int64(0)
	if l.then.place == nil || !l.then.place.same(l.now.place) { // else it is the same directory, or was none
		if l.then.ino != 0 && l.then.dir {
			delta++
		}
		if l.now.ino != 0 && l.now.dir {
			delta--
		}
	}
	return p.change(l.dir, "nlink=iif(nlink>1, max(nlink+?2, 2), nlink), mtime=?3, mtime_nsec=?4, ctime=?3, ctime_nsec=?4", delta, Now())
}

// change changes the row of an inode, whose number is the first parameter.
func (p *part) change(ino Ino, set string, values ...any) error {
	if err := do(p.w.conn, database.KeptInode.PutAll("(SELECT ?3 AS ino)"), p.w.newest.ID, p.w.newest.maxIno, ino); err != nil {
		return err
	}
	if err := p.w.own(database.KeptInode, ino); err != nil {
		return err
	}
	return do(p.w.conn, "UPDATE main.fs_inode SET "+set+" WHERE ino=?1", append([]any{ino}, values...)...)
}

// bare are the paths of a workspace of the host's that show again with nothing of the tree's over them.
func (p *part) bare(workspace string) (list []string) {
	for i := range p.links {
		if l := &p.links[i]; l.then.ino == 0 && l.then.place != nil && l.then.place.base == workspace {
			list = append(list, l.then.place.path)
		}
	}
	return list
}
