package sqlvfs

import (
	"path"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Paths are where inodes are in the tree, and where those have been that are not there any more. A number may have come back as that of
// another inode, as of one that a fork has made after its parent had removed one. What was changed before the inode was made that has the
// number now was the other one.
type Paths struct {
	now, then map[Ino]NameIn
	more      map[NameIn]Ino // the names that inodes have beside those in now
	born      map[Ino]int64  // when those were made that are there now, in nanoseconds since 1970
}

// Paths reads all names of the tree, and of what is not there any more the last one that is known.
func (m *Moment) Paths() (*Paths, error) {
	p := &Paths{map[Ino]NameIn{}, map[Ino]NameIn{}, map[NameIn]Ino{}, map[Ino]int64{}}
	put := func(to map[Ino]NameIn, present bool) func(q *sqlite3.Stmt) {
		return func(q *sqlite3.Stmt) {
			n, ino := NameIn{Ino(q.ColumnInt64(0)), string(q.ColumnRawText(1))}, Ino(q.ColumnInt64(2))
			if !ValidName(n.Name) || ino == RootIno || ino == n.Dir {
				return
			}
			_, there := p.now[ino]
			switch {
			case !there:
				to[ino] = n
			case present:
				p.more[n] = ino
			}
		}
	}
	err := m.s.tx.each("SELECT parent_ino, name, ino FROM fs_dentry", put(p.now, true))
	for i := len(m.s.stack.Layers) - 1; err == nil && i > 0; i-- {
		schema := m.s.stack.Layers[i].Schema
		err = m.s.tx.each("SELECT parent_ino, name, ino FROM "+schema+".art_old_dentry WHERE there=1 ORDER BY checkpoint", put(p.then, false))
	}
	if err == nil && m.s.tx.meta.Subst[qCheckpoints] == "" { // there is history
		err = m.s.tx.each("SELECT parent_ino, name, ino FROM main.art_old_dentry WHERE there=1 ORDER BY checkpoint", put(p.then, false))
	}
	if err == nil {
		err = m.births(p.born, "1")
	}
	if err != nil {
		return nil, err
	}
	last := map[Ino]Timespec{}
	err = m.Changes(nil, func(c Change) {
		if c.Dir == 0 || c.Ino == 0 || c.Ino == RootIno || c.Ino == c.Dir || last[c.Ino].After(c.Last) || p.has(c.Ino, c.Last) {
			return
		}
		last[c.Ino] = c.Last
		p.then[c.Ino] = NameIn{c.Dir, c.Name}
	})
	return p, err
}

// births reads when inodes were made, as far as that is known.
func (m *Moment) births(to map[Ino]int64, where string, args ...any) error {
	if m.s.tx.meta.Subst[qBirth] != "" {
		return nil
	}
	return m.s.tx.each("SELECT i.ino, iif(b.ino IS NULL, "+storedBirth+", b.birth) FROM fs_inode i LEFT JOIN art_birth b ON b.ino=i.ino WHERE "+where, func(q *sqlite3.Stmt) {
		if q.ColumnType(1) == sqlite3.INTEGER {
			to[Ino(q.ColumnInt64(0))] = q.ColumnInt64(1)
		}
	}, args...)
}

// isOlder tells whether something has happened before an inode was made.
func isOlder(then Timespec, born map[Ino]int64, ino Ino) bool {
	at, known := born[ino]
	return known && nanoseconds(then) < at
}

// has tells whether the inode with a number that is there now is the one that had it.
func (p *Paths) has(ino Ino, then Timespec) bool {
	_, there := p.now[ino]
	return there && !isOlder(then, p.born, ino)
}

// path returns the path below the root of an inode that there was once, and whether it is there; "": nothing is known of one.
func (p *Paths) path(ino Ino, once Timespec) (at string, there bool) {
	var names []string
	there = true
	for length := 0; ino != RootIno; {
		n, ok := p.now[ino]
		if !p.has(ino, once) {
			there = false
			n, ok = p.then[ino]
		}
		if length += len(n.Name) + 1; !ok || length > maxPathRead {
			return "", false
		}
		names = append(names, n.Name)
		ino = n.Dir
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/"), there
}

// maxPathRead bounds a path, in bytes: a damaged tree may lead in circles.
const maxPathRead = 64 << 10

// PathOf returns where a change was, and whether what it was done to is there now: with a name, by that name; else where its inode is, or was.
func (p *Paths) PathOf(c *Change) (at string, there bool) {
	if c.Dir == 0 {
		return p.path(c.Ino, c.Last)
	}
	dir, there := p.path(c.Dir, c.Last)
	if dir == "" {
		return "", false
	}
	name := NameIn{c.Dir, c.Name}
	return path.Join(dir, c.Name), there && p.has(c.Ino, c.Last) && (p.now[c.Ino] == name || p.more[name] == c.Ino)
}
