package reconcile

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// What was pulled is on the host now, so the guest need not have it of the database: without a
// row, the host's shows through, and with it what the host changes later. So these rows go, unless a push
// has stored the whole workspace: such a database can be carried away, and stays whole.
//
// A row goes that the guest has not changed since both sides agreed about each of its names. A directory
// goes when nothing is left in it. One that shows nothing of the host's (it is opaque) comes to show the host's entries if the guest has
// all that the host has there; else all of it stays, as in one that still shows another place, for which something was left.

// releaser finds the rows that can go.
type releaser struct {
	*puller
	tree   *sqlvfs.Snapshot
	base   map[string]*sqlvfs.Baseline
	names  map[sqlvfs.Ino]int // entries that lead to a row
	agreed map[sqlvfs.Ino]int // those of them at which both sides agree
	dirs   map[sqlvfs.Ino]*both
	steps  []releasedEntry // what is in a directory comes before it
	shown  map[sqlvfs.Ino]*sqlvfs.Origin

	repositories map[string]bool // new ones, by directory: see came
}

// releasedEntry is a row that goes, or a whiteout.
type releasedEntry struct {
	path, name string
	dir        sqlvfs.Ino
	row        sqlvfs.Ino // 0: a whiteout
}

// release lets go of the rows of what is on the host.
func (p *puller) release() error {
	if keep, err := p.keepsRows(); keep || err != nil {
		return err
	}
	if err := p.store.Sync(); err != nil { // what is on the host is durable already
		return p.opt.writing(err)
	}
	r := &releaser{puller: p, names: map[sqlvfs.Ino]int{}, agreed: map[sqlvfs.Ino]int{},
		dirs: map[sqlvfs.Ino]*both{}, shown: map[sqlvfs.Ino]*sqlvfs.Origin{}, repositories: map[string]bool{}}
	err := p.store.View(func(tx *sqlvfs.Tx) (err error) {
		if r.tree, err = tx.Snapshot(); err == nil {
			r.base, err = tx.Baselines(p.id)
		}
		return err
	})
	if err != nil {
		return p.opt.reading(err)
	}
	top := r.tree.Child(r.tree.Node(sqlvfs.RootIno), p.name)
	if top == nil || !top.Attr.IsDir() {
		return nil
	}
	r.tree.All(func(n *sqlvfs.Node) {
		for _, e := range n.Children {
			r.names[e.Ino]++
		}
	})
	known := map[sqlvfs.Ino]int{}
	for _, b := range r.base {
		if known[b.Row]++; known[b.Row] > r.names[b.Row] {
			r.names[b.Row]++ // one that the guest has removed, and the host has not yet: the row tells what it was
		}
	}
	r.look(top, ".")
	r.dir(top, ".")
	return p.opt.writing(p.store.View(r.apply))
}

// keepsRows reports whether all of the workspace is in the database, to stay.
func (p *puller) keepsRows() (bool, error) {
	if p.exports || p.top == nil || p.session != nil {
		return true, nil
	}
	w, known, err := workspaceOf(p.store, p.name)
	return w.Whole || !known, err
}

// both is a directory that both sides have, and of which rows may go.
type both struct {
	names map[string]bool // that the host has
	st    unix.Stat_t     // of the host's
	shows bool            // the guest sees the host's entries through it
}

// look finds these directories, and counts at how many of its names in them the guest has not changed a file
// since both sides agreed.
func (r *releaser) look(n *sqlvfs.Node, at string) {
	if r.dirs[n.Ino] != nil || r.names[n.Ino] != 1 || len(at) > maxPath {
		return
	}
	b := r.both(n, at)
	if b == nil {
		return
	}
	r.dirs[n.Ino] = b
	for _, e := range n.Children {
		c, path := r.tree.Node(e.Ino), join(at, e.Name)
		switch {
		case c.Attr.IsDir():
			r.look(c, path)
		case r.unchanged(c, path):
			r.agreed[c.Ino]++
		}
	}
}

func (r *releaser) both(n *sqlvfs.Node, at string) *both {
	d, err := r.host.read(at)
	if err != nil {
		return nil
	}
	defer d.close()
	b := &both{st: d.st, names: map[string]bool{}, shows: at == "." || n.Origin != nil && n.Origin.Base == r.name && n.Origin.Path == at}
	names, err := d.names()
	if err != nil || !b.shows && (n.Origin != nil || !hasAll(r.tree, n, names)) {
		return nil
	}
	for _, name := range names {
		b.names[name] = true
	}
	return b
}

// unchanged reports whether the guest has what both sides agreed about at a path. What belongs to a
// repository is not this file's to decide, but for one that has come as files.
func (r *releaser) unchanged(n *sqlvfs.Node, at string) bool {
	if dir, in := r.gitDir(at); dir != "" && in != "" && git.Owns(in) && !r.came(dir) || skipped(at) != "" {
		return false
	}
	return r.agrees(n, at)
}

// came reports whether a repository that only the guest had is the host's as a whole.
func (r *releaser) came(dir string) bool {
	is, known := r.repositories[dir]
	if !known && slices.Contains(r.newRepos, dir) {
		n := r.tree.Child(r.tree.Node(sqlvfs.RootIno), r.name)
		for name := range strings.SplitSeq(dir, "/") {
			if n != nil {
				n = r.tree.Child(n, name)
			}
		}
		is = n != nil && r.allCame(dir, dir, n)
	}
	r.repositories[dir] = is
	return is
}

// allCame reports whether all of git's own files below a directory are as both sides agreed, and all of the host's are
// among them: references without their objects are a broken repository.
func (r *releaser) allCame(dir, at string, n *sqlvfs.Node) bool {
	if len(at) > maxPath || r.both(n, at) == nil {
		return false
	}
	return !slices.ContainsFunc(n.Children, func(e sqlvfs.Entry) bool {
		c, path := r.tree.Node(e.Ino), join(at, e.Name)
		switch in := strings.TrimPrefix(path, dir+"/"); {
		case !git.Owns(in):
			return false
		case c.Attr.IsDir():
			return !r.allCame(dir, path, c)
		}
		return !r.agrees(c, path)
	})
}

// agrees reports whether a row is as it was when both sides agreed.
func (r *releaser) agrees(n *sqlvfs.Node, at string) bool {
	b := r.agreedOn(n, at)
	return b != nil && b.Row == n.Ino && b.RowCtime == n.Attr.Ctime && kind(b.Mode) == kind(n.Attr.Mode)
}

// agreedOn is what both sides agree about at a path, where the guest has a row; nil: nothing.
func (r *releaser) agreedOn(n *sqlvfs.Node, at string) *sqlvfs.Baseline {
	b := r.base[at]
	if o := n.Origin; b == nil && o != nil && o.Base == r.name && o.Path == at && r.sameTree {
		b = n.Baseline()
	}
	return b
}

// dir finds what can go of a directory's entries, and reports whether nothing is left in it.
func (r *releaser) dir(n *sqlvfs.Node, at string) (empty bool) {
	b := r.dirs[n.Ino]
	if b == nil {
		return false
	}
	before := len(r.steps)
	empty = true
	for _, e := range n.Children {
		c, path := r.tree.Node(e.Ino), join(at, e.Name)
		goes := r.agreed[c.Ino] == r.names[c.Ino]
		if c.Attr.IsDir() {
			goes = r.dir(c, path) && r.plain(c)
		}
		if goes {
			r.steps = append(r.steps, releasedEntry{path, e.Name, n.Ino, c.Ino})
		}
		empty = empty && goes
	}
	for _, name := range n.Whiteouts {
		switch {
		case r.tree.Child(n, name) != nil: // the entry that has come in its place says
		case b.names[name]:
			empty = false
		default:
			r.steps = append(r.steps, releasedEntry{join(at, name), name, n.Ino, 0})
		}
	}
	if !b.shows && len(r.steps) > before {
		r.shown[n.Ino] = &sqlvfs.Origin{Base: r.name, Path: at, Number: number(n), Fingerprint: hostfs.Fingerprint(&b.st), Mode: b.st.Mode}
	}
	return empty
}

// number is the inode number that a row has shown until now.
func number(n *sqlvfs.Node) uint64 {
	return (&sqlvfs.Inode{Ino: n.Ino, Origin: n.Origin}).Number()
}

// hasAll reports whether a directory of the guest has, or hides, all names that the host's has.
func hasAll(tree *sqlvfs.Snapshot, n *sqlvfs.Node, names []string) bool {
	hidden := map[string]bool{}
	for _, name := range n.Whiteouts {
		hidden[name] = true
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !hidden[name] && tree.Child(n, name) == nil })
}

// plain reports whether a directory says no more of itself than the host's does.
func (r *releaser) plain(n *sqlvfs.Node) bool {
	st := &r.dirs[n.Ino].st
	return (st.Mode^n.Attr.Mode)&modeBits == 0 && (!r.asRoot || st.Uid == n.Attr.UID && st.Gid == n.Attr.GID)
}

// apply lets go of all of it in one transaction.
func (r *releaser) apply(tx *sqlvfs.Tx) error {
	for ino, o := range r.shown {
		err := withRow(tx, ino, func(row *sqlvfs.Inode) error {
			tx.SetOrigin(row, o)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, s := range r.steps {
		if err := r.let(tx, s); err != nil {
			return err
		}
		tx.SetBaseline(r.id, s.path, nil)
	}
	return r.nameless(tx)
}

// nameless lets go of rows of files without an entry, that have come to the host by a name of their origin's: the host has that file now.
func (r *releaser) nameless(tx *sqlvfs.Tx) error {
	at := map[sqlvfs.Ino][]string{}
	for path, b := range r.base {
		if r.showing[b.Row] {
			at[b.Row] = append(at[b.Row], path)
		}
	}
	for ino, paths := range at {
		n := r.tree.Node(ino)
		if n == nil || slices.ContainsFunc(paths, func(path string) bool { return !r.agrees(n, path) }) {
			continue
		}
		err := withRow(tx, ino, func(row *sqlvfs.Inode) error {
			row.Attr.Nlink = 0
			tx.Dirty(row)
			return nil
		})
		if err != nil {
			return err
		}
		for _, path := range paths {
			tx.SetBaseline(r.id, path, nil)
		}
	}
	return nil
}

// released is what is written down of a row that goes.
func (r *releaser) released(s releasedEntry) sqlvfs.Released {
	n := r.tree.Node(s.row)
	is := sqlvfs.Released{Dir: s.dir, Name: s.name, Ino: s.row, Ctime: n.Attr.Ctime}
	switch b := r.agreedOn(n, s.path); {
	case n.Attr.IsDir():
		st := &r.dirs[n.Ino].st
		is.Mode, is.Fingerprint = st.Mode, hostfs.Fingerprint(st)
	case b != nil:
		is.Mode, is.Fingerprint = b.Mode, b.Fingerprint
	}
	return is
}

func (r *releaser) let(tx *sqlvfs.Tx, s releasedEntry) error {
	return withRow(tx, s.dir, func(dir *sqlvfs.Inode) error {
		if s.row == 0 {
			return tx.ReleaseWhiteout(dir, s.name)
		}
		if err := tx.Unlink(dir, s.name); err != nil {
			return err
		}
		if err := tx.ClearWhiteout(dir, s.name); err != nil {
			return err
		}
		tx.NoteReleased(r.released(s))
		return withRow(tx, s.row, func(row *sqlvfs.Inode) error {
			// All of its names go. Until then, it is to stay.
			if r.names[s.row]--; r.names[s.row] == 0 {
				row.Attr.Nlink = 0
				tx.Dirty(row)
			}
			return nil
		})
	})
}
