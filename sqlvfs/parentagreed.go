package sqlvfs

import (
	"path"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What a fork began with, a pull from its parent may bring to the host later. The fork has agreed on nothing there, as far as its own tables
// know. But the host has what the fork has begun with: what its guest has removed or changed of that since is a change of something that both
// had, and not of something that the host has made.

// AgreedByParents returns, by path, what the host has of a fork's beginnings since pulls from the databases that it is a fork of: the version that
// the fork began with, and no other. It is what these pulls have let go of, since the host has it.
func (s *Store) AgreedByParents(t Tree) (map[string]*Baseline, error) {
	agreed := map[string]*Baseline{}
	for _, p := range s.stack.Parents {
		a := agreement{tree: t, parent: p, agreed: agreed, from: map[Ino]*Released{}, dirs: map[Ino]string{}}
		if err := a.read(); err != nil {
			return nil, err
		}
	}
	return agreed, nil
}

// agreement is what AgreedByParents finds in one of them.
type agreement struct {
	tree     Tree
	parent   database.Parent
	then     *Moment // what the fork began with
	agreed   map[string]*Baseline
	released []*Released
	from     map[Ino]*Released // by the inode
	dirs     map[Ino]string    // see place
}

func (a *agreement) read() (err error) {
	now, err := openMoment(a.parent.Path, "")
	if err != nil {
		return err
	}
	defer now.Close()
	if err := a.readReleased(now); err != nil || len(a.released) == 0 {
		return err
	}
	if a.then, err = openMoment(a.parent.Path, strconv.FormatInt(a.parent.Checkpoint, 10)); err != nil {
		return err
	}
	defer a.then.Close()
	for _, r := range a.released {
		dir, err := a.place(r.Dir, 0)
		if err != nil {
			return err
		}
		if dir == "" {
			continue
		}
		if err := a.add(path.Join(dir, r.Name), r); err != nil {
			return err
		}
	}
	return nil
}

// readReleased reads what pulls have let go of since the fork was made. Of one name, the last counts.
func (a *agreement) readReleased(now *Moment) error {
	there, err := now.hasReleased()
	if err != nil || !there {
		return err
	}
	return now.s.tx.each(`SELECT parent_ino, name, ino, ino_ctime, ino_ctime_nsec, mode, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec
		FROM main.art_released WHERE checkpoint>=? AND ino<>0 ORDER BY checkpoint DESC`, func(q *sqlite3.Stmt) {
		r := &Released{Dir: Ino(q.ColumnInt64(0)), Name: string(q.ColumnRawText(1)), Ino: Ino(q.ColumnInt64(2)), Ctime: scanTime(q, 3),
			Mode: uint32(q.ColumnInt64(5)), Fingerprint: scanFingerprint(q, 6)}
		if r.valid() {
			a.released = append(a.released, r)
			if a.from[r.Ino] == nil {
				a.from[r.Ino] = r
			}
		}
	}, a.parent.Checkpoint)
}

// add takes in what has come to a path, if that is the version of a row that the fork began with.
func (a *agreement) add(at string, r *Released) error {
	if r.Ino > Ino(a.parent.MaxIno) || a.agreed[at] != nil || !database.ValidPath(at) {
		return nil
	}
	n, err := a.then.Node(r.Ino)
	if err == nil && n != nil && n.Attr.Ctime == r.Ctime {
		a.agreed[at] = &Baseline{Mode: r.Mode, Fingerprint: r.Fingerprint, Row: r.Ino, RowCtime: r.Ctime}
	}
	return err
}

// place returns where on the host a directory is that the fork began with; "": that is not known.
func (a *agreement) place(dir Ino, depth int) (at string, err error) {
	at, ok := a.dirs[dir]
	if ok || depth > deepest {
		return at, nil
	}
	n, err := a.then.Node(dir)
	if err != nil || n == nil {
		return "", err
	}
	switch r := a.from[dir]; {
	case n.Origin != nil && n.Origin.Base == a.tree.Name:
		at = n.Origin.Path
	case r != nil:
		if at, err = a.place(r.Dir, depth+1); at != "" {
			at = path.Join(at, r.Name)
		}
	case n.Origin == nil: // the workspace, made by a push
		err = a.then.s.tx.each("SELECT name FROM fs_dentry WHERE parent_ino=1 AND ino=?", func(q *sqlite3.Stmt) {
			if q.ColumnText(0) == a.tree.Name {
				at = "."
			}
		}, dir)
	}
	if err == nil {
		a.dirs[dir] = at
	}
	return at, err
}
