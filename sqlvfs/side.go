package sqlvfs

import (
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// side is the tree now or at a checkpoint, as a writer reads it, and what of it is of a part that goes back.
type side struct {
	w     *writer
	at    *Checkpoint // nil: now
	stmts map[string]*sqlite3.Stmt
	seen  map[Ino]*seen
	way   map[Ino]string // directories above the part, and their paths

	natural map[hostPlace]*found // what paths lead to that objects of the host's would be at, as far as that was asked for
	rowsOf  map[hostPlace][]Ino  // of some of them, the rows that have them as their origin
	named   map[Ino]bool         // of these rows, those that have a name
}

// seen is an inode on a side.
type seen struct {
	dir    bool
	links  int64           // its count of names
	names  map[string]bool // its paths in the part
	keys   map[NameIn]bool // same
	others []NameIn        // its other names
}

func newSide(w *writer, at *Checkpoint) *side {
	return &side{w: w, at: at, stmts: map[string]*sqlite3.Stmt{}, seen: map[Ino]*seen{}, way: map[Ino]string{}, natural: map[hostPlace]*found{}}
}

func (s *side) close() {
	for _, q := range s.stmts {
		q.Close()
	}
}

// of returns an inode of the side, which may be in none of it.
func (s *side) of(ino Ino) *seen {
	if i := s.seen[ino]; i != nil {
		return i
	}
	return &seen{}
}

// each calls see for each row of a query, in which tables stand in braces.
func (s *side) each(query string, see func(*sqlite3.Stmt), values ...any) error {
	q := s.stmts[query]
	if q == nil {
		text := query
		for _, k := range database.AllKept {
			table := k.Table
			if s.at != nil {
				table = "(" + s.w.store.stack.RowsAt(k, s.at.ID, int64(s.at.maxIno)) + ")"
			}
			text = strings.ReplaceAll(text, "{"+k.Table+"}", table)
		}
		var err error
		if q, _, err = s.w.Prepare(text); err != nil {
			return fmt.Errorf("%w: %v", ErrCorrupt, err)
		}
		s.stmts[query] = q
	}
	bind(q, values...)
	for s.w.Step(q) {
		see(q)
	}
	return s.w.Done(q)
}

// hostPlace is where a directory of the host's is, or what may be in one.
type hostPlace struct{ base, path string }

func (p *hostPlace) same(other *hostPlace) bool {
	return p == other || p != nil && other != nil && *p == *other
}

// found is what a path leads to.
type found struct {
	ino    Ino        // its row; 0: it has none
	dir    bool       // it is a directory's
	origin *hostPlace // of a row
	place  *hostPlace // of a directory's row, what of the host's it lies over; of none, what the host may have
	hidden bool       // and that does not show
}

// nothing tells whether nothing can be there.
func (f *found) nothing() bool { return f.ino == 0 && f.place == nil }

// follow returns what a path below the root leads to, and all paths above it, from the root on.
func (s *side) follow(at string) ([]found, error) {
	root, err := s.row(RootIno)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("%w: there is no root", ErrCorrupt)
	}
	steps := []found{*root}
	for name := range strings.SplitSeq(at, "/") {
		if !ValidName(name) {
			return nil, fmt.Errorf("%s: %w", at, ErrNotThere)
		}
		next, err := s.child(&steps[len(steps)-1], name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, *next)
	}
	return steps, nil
}

// row returns the row of an inode; nil: there is none.
func (s *side) row(ino Ino) (is *found, err error) {
	err = s.each("SELECT mode FROM {fs_inode} WHERE ino=?", func(q *sqlite3.Stmt) {
		is = &found{ino: ino, dir: uint32(q.ColumnInt64(0))&syscall.S_IFMT == syscall.S_IFDIR}
	}, ino)
	if err != nil || is == nil {
		return is, err
	}
	err = s.each("SELECT (SELECT name FROM art_base b WHERE b.id=o.base), path FROM {art_origin} o WHERE ino=?", func(q *sqlite3.Stmt) {
		is.origin = &hostPlace{string(q.ColumnRawText(0)), string(q.ColumnRawBlob(1))}
	}, ino)
	if is.dir {
		is.place = is.origin
	}
	return is, err
}

// child returns what a name in a directory leads to.
func (s *side) child(dir *found, name string) (*found, error) {
	if dir.ino == 0 {
		if dir.place == nil {
			return &found{}, nil
		}
		return &found{place: &hostPlace{dir.place.base, path.Join(dir.place.path, name)}}, nil
	}
	if !dir.dir {
		return &found{}, nil
	}
	var is Ino
	err := s.each("SELECT ino FROM {fs_dentry} WHERE parent_ino=? AND name=?", func(q *sqlite3.Stmt) { is = Ino(q.ColumnInt64(0)) }, dir.ino, name)
	if err != nil {
		return nil, err
	}
	if is != 0 {
		row, err := s.row(is)
		if err == nil && row == nil {
			err = fmt.Errorf("%w: %s leads to inode %d, which is not there", ErrCorrupt, name, is)
		}
		if err == nil && dir.ino == RootIno && row.dir && row.origin == nil { // a workspace that was pushed lies over the host's all the same
			var none *found
			if none, err = s.without(dir, name); err == nil {
				row.place = none.place
			}
		}
		return row, err
	}
	return s.without(dir, name)
}

// without is what a name leads to in a directory that has a row, but no entry of that name.
func (s *side) without(dir *found, name string) (*found, error) {
	white := &found{}
	err := s.each("SELECT 1 FROM {art_whiteout} WHERE parent_ino=? AND name=?", func(*sqlite3.Stmt) { white.hidden = true }, dir.ino, name)
	switch {
	case err != nil || white.hidden:
	case dir.ino == RootIno: // a workspace has no row until the guest changes something in it
		known, err := queryNumber(s.w.conn, "SELECT EXISTS (SELECT 1 FROM art_base WHERE name=?1) OR EXISTS (SELECT 1 FROM art_workspace WHERE name=?1)", name)
		if err != nil {
			return nil, err
		}
		if known != 0 {
			white.place = &hostPlace{name, "."}
		}
	case dir.place != nil:
		white.place = &hostPlace{dir.place.base, path.Join(dir.place.path, name)}
	}
	return white, err
}

// deepest bounds the paths of a part, in bytes: a guest may make directories so deep that they would not fit into memory.
const deepest = 8 * syscall.PathMax

// walk sees the inode that a name leads to, and all below it.
func (s *side) walk(is found, key NameIn, at string) error {
	if is.ino == 0 {
		return nil
	}
	type dir struct {
		ino Ino
		at  string
	}
	var todo []dir
	see := func(ino Ino, mode uint32, links int64, key NameIn, at string) {
		i := s.seen[ino]
		if i == nil {
			i = &seen{dir: mode&syscall.S_IFMT == syscall.S_IFDIR, links: links, names: map[string]bool{}, keys: map[NameIn]bool{}}
			if s.seen[ino] = i; i.dir {
				todo = append(todo, dir{ino, at})
			}
		}
		i.names[at], i.keys[key] = true, true
	}
	err := s.each("SELECT mode, nlink FROM {fs_inode} WHERE ino=?", func(q *sqlite3.Stmt) {
		see(is.ino, uint32(q.ColumnInt64(0)), q.ColumnInt64(1), key, at)
	}, is.ino)
	for err == nil && len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(d.at) > deepest {
			return fmt.Errorf("%s: %w", at, ErrDeep)
		}
		err = s.each(`SELECT d.name, d.ino, (SELECT i.mode FROM {fs_inode} i WHERE i.ino=d.ino), (SELECT i.nlink FROM {fs_inode} i WHERE i.ino=d.ino)
			FROM {fs_dentry} d WHERE d.parent_ino=?`, func(q *sqlite3.Stmt) {
			name := string(q.ColumnRawText(0))
			see(Ino(q.ColumnInt64(1)), uint32(q.ColumnInt64(2)), q.ColumnInt64(3), NameIn{d.ino, name}, path.Join(d.at, name))
		}, d.ino)
	}
	return err
}

// findOthers finds the names outside of the part of inodes that are seen on either side.
func (s *side) findOthers(inodes map[Ino]*seen) error {
	var list []Ino
	for ino := range inodes {
		if s.seen[ino] == nil {
			err := s.each("SELECT mode, nlink FROM {fs_inode} WHERE ino=?", func(q *sqlite3.Stmt) {
				s.seen[ino] = &seen{dir: uint32(q.ColumnInt64(0))&syscall.S_IFMT == syscall.S_IFDIR, links: q.ColumnInt64(1)}
			}, ino)
			if err != nil {
				return err
			}
		}
		if i := s.seen[ino]; i != nil && (len(i.names) == 0 || !i.dir && i.links != int64(len(i.names))) {
			list = append(list, ino)
		}
	}
	if len(list) == 0 {
		return nil
	}
	// No index has the inodes that names lead to: look through all of them once.
	return s.each("SELECT parent_ino, name, ino FROM {fs_dentry} WHERE ino IN (SELECT value FROM json_each(?))", func(q *sqlite3.Stmt) {
		key, i := NameIn{Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1))}, s.seen[Ino(q.ColumnInt64(2))]
		if !i.keys[key] {
			i.others = append(i.others, key)
		}
	}, numbers(list))
}

// attributes are those of an inode that all its names show, but for how many they are. The last is 0 if there is no such inode.
func (s *side) attributes(ino Ino) (all [8]int64, err error) {
	err = s.each("SELECT mode, uid, gid, size, mtime, mtime_nsec, rdev, 1 FROM {fs_inode} WHERE ino=?", func(q *sqlite3.Stmt) {
		for i := range all {
			all[i] = q.ColumnInt64(i)
		}
	}, ino)
	return all, err
}

// isAlso is the error of an inode with a name in the part, which has one elsewhere on this side.
func (s *side) isAlso(in, out *seen, how string) error {
	there, err := s.pathAt(out.others[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s "+how+": %w", least(in.names), there, ErrMoved)
}

// least is the first of some names.
func least(names map[string]bool) (first string) {
	for at := range names {
		if first == "" || at < first {
			first = at
		}
	}
	return first
}

// pathTo returns a path of an inode.
func (s *side) pathTo(ino Ino) (string, error) {
	if ino == RootIno {
		return "", nil
	}
	names, err := s.namesOf(ino)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return s.pathAt(names[0])
}

// pathAt returns the path of a name.
func (s *side) pathAt(key NameIn) (at string, err error) {
	for len(at) < syscall.PathMax { // no program can name more of it, and a hostile tree may have no end
		if !ValidName(key.Name) {
			return at, fmt.Errorf("%w: a name of a directory cannot be", ErrCorrupt)
		}
		if at = path.Join(key.Name, at); key.Dir == RootIno {
			break
		}
		above, err := s.namesOf(key.Dir)
		if err != nil || len(above) == 0 {
			return at, err
		}
		key = above[0]
	}
	return at, nil
}
