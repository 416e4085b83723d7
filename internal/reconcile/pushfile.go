package reconcile

import (
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// symlink stores a symbolic link. What it points to is not looked at.
func (p *pusher) symlink(f *found) error {
	target, err := hostfs.Readlink(f.dir, f.name)
	if err != nil {
		return err
	}
	if err := p.ensure(f.in); err != nil {
		return p.storeFailed(err)
	}
	row, err := p.existing(f.in.row, f.name, unix.S_IFLNK)
	if err != nil {
		return p.storeFailed(err)
	}
	defer func() { p.rows().put(row) }()
	attr := attrOf(&f.st)
	attr.Size = int64(len(target))
	same, err := p.rows().leadsTo(row, target)
	if err != nil {
		return p.storeFailed(err)
	}
	if same && row.Attr.Mtime == attr.Mtime && sameOwnerAndMode(&row.Attr, &attr) {
		p.agree(f.at, &f.st, row, hashOf(target))
		return nil
	}
	if !p.opt.DryRun {
		if row == nil || row.Attr.Nlink > 1 || p.beside && !same {
			p.rows().put(row)
			if row, err = p.rows().create(attr); err != nil {
				return p.storeFailed(err)
			}
		}
		if err := p.rows().update(f.in.row, f.name, row, func(tx *sqlvfs.Tx) { p.setAttr(row, attr); tx.SetTarget(row, target) }); err != nil {
			return p.storeFailed(err)
		}
		f.in.changed = true
		p.agree(f.at, &f.st, row, hashOf(target))
	}
	p.report.Line("LINK %s -> %s (%s)", p.report.Name(p.guestPath(f.at)), p.report.Name(target), p.inoText(row, !same))
	return nil
}

// file stores a regular file under those of its names that are given, in the row n, or in a new one.
func (p *pusher) file(take []*found, n *sqlvfs.Node) (err error) {
	f := take[0]
	whole, guests := true, false // all of its content is stored; the mode is the guest's
	for _, g := range take {
		if d := g.decision; n != nil && g.node == n {
			whole = whole && (d.Kind != classify.Agreed || d.Content != classify.Agreed || d.Host&classify.Written != 0)
			guests = guests || d.Mode == classify.Guest
		}
	}
	attr := attrOf(&f.st)
	var row *sqlvfs.Inode
	defer func() { p.rows().put(row) }()
	if n != nil {
		if row, err = p.rows().get(n.Ino); err != nil {
			return p.storeFailed(err)
		}
		whole = whole || n.Origin != nil && n.Origin.Limit > 0
		p.owner[n.Ino] = objectOf(&f.st)
		p.written[n.Ino] = whole
	}
	changed := whole || row.Attr.Mtime != attr.Mtime || !guests && !sameOwnerAndMode(&row.Attr, &attr)
	if !p.opt.DryRun {
		if row, err = p.storeFile(take, row, whole, guests); err != nil {
			return err
		}
		attr = row.Attr
	}
	for _, g := range take {
		at := g.at
		if g.removed {
			at = p.names(n.Ino)[0]
		}
		if changed || !g.removed && (!g.here || g.node != n) {
			p.report.Line("FILE %s (%d bytes, %s)", p.report.Name(p.guestPath(at)), attr.Size, p.inoText(row, whole))
		}
		changed = false
	}
	return nil
}

// storeFile is the part of file that changes the database. It returns the row.
func (p *pusher) storeFile(take []*found, row *sqlvfs.Inode, whole, guests bool) (*sqlvfs.Inode, error) {
	f, mode := take[0], uint32(0)
	if row != nil {
		mode = row.Attr.Mode
	}
	content, done, err := p.reads(f)
	if err != nil {
		return row, err
	}
	defer done()
	switch {
	case content.Err != nil:
		err = content.Err
	case whole:
		p.begun = sqlvfs.Now()
		switch {
		case p.beside: // who has the file open goes on with what it was, as after a rename
			p.rows().put(row)
			row = nil
		case row != nil:
			p.begin(take, row)
		}
		row, err = p.storeContent(content, row)
	case content.Data != nil:
		content.Drop()
	default:
		err = content.Look()
		for _, g := range take {
			if g.was != nil && g.node != nil && g.node.Ino == row.Ino {
				content.Hash = g.was.Hash
			}
		}
	}
	if err != nil {
		return row, err
	}
	attr := attrOf(&content.St)
	if guests {
		attr.Mode = attr.Mode&^modeBits | mode&modeBits
	}
	if err := p.rows().do(func(tx *sqlvfs.Tx) error { return setRowXattrs(tx, row, content.Xattrs) }); err != nil {
		return row, p.storeFailed(err)
	}
	entries, counted := p.countEntries(row.Ino, take)
	for _, g := range take {
		if err := p.enter(g, row, func(*sqlvfs.Tx) {
			if counted {
				row.Attr.Nlink, counted = entries, false // entering the names counts on from there
			}
			p.setAttr(row, attr)
		}); err != nil {
			return row, p.storeFailed(err)
		}
	}
	for _, g := range take {
		b := baselineOf(&content.St, row, content.Hash)
		if guests {
			b.RowCtime = sqlvfs.Timespec{} // the row is not what the host has
		}
		p.setBaseline(g.at, b)
	}
	p.owner[row.Ino] = objectOf(&content.St)
	return row, nil
}

// reads returns what reads a file, ahead or now.
func (p *pusher) reads(f *found) (content *hostFile, done func(), err error) {
	if f.content != nil {
		return f.content, func() {}, nil
	}
	dir := f.dir
	done = func() {}
	if dir == nil {
		if dir, _, err = p.host.openParent(f.at); err != nil {
			return nil, nil, err
		}
		done = func() { dir.Close() }
	}
	return &hostFile{Dir: dir, Name: f.name, St: f.st}, done, nil
}

// enter makes a name stand for a row, unless the guest has taken it away, and runs a change of the row.
func (p *pusher) enter(f *found, row *sqlvfs.Inode, change func(*sqlvfs.Tx)) error {
	if f.removed {
		return p.rows().change(row, change)
	}
	if err := p.ensure(f.in); err != nil {
		return err
	}
	f.in.changed = true
	return p.rows().update(f.in.row, f.name, row, change)
}

// countEntries returns the link count of a row that a session has made for a host file with several names, before its
// names are entered: it is to count entries, and those of the host's names only that are left as they are. Once that was
// said of a row, its count is right.
func (p *pusher) countEntries(ino sqlvfs.Ino, names []*found) (n uint32, ok bool) {
	n, ok = p.links[ino]
	if !ok && (p.named[ino] > 0 || p.tree.Node(ino) == nil) {
		return 0, false
	}
	delete(p.links, ino)
	p.named[ino] = max(p.named[ino], 1)
	if p.limit != nil {
		n += uint32(max(0, int(names[0].st.Nlink)-len(names)))
	}
	return n, true
}

// keep has the guest's content stay. The name may be new to it, and the mode may be the host's.
func (p *pusher) keep(f *found) error {
	n := f.node
	mode := f.decision.Mode == classify.Host
	if f.here && !mode {
		return p.complete(f.at, &f.st)
	}
	if f.removed && !mode {
		return nil
	}
	row, err := p.rows().get(n.Ino)
	if err != nil {
		return p.storeFailed(err)
	}
	defer p.rows().put(row)
	if !p.opt.DryRun {
		entries, counted := p.countEntries(row.Ino, []*found{f})
		if err := p.enter(f, row, func(*sqlvfs.Tx) {
			if counted {
				row.Attr.Nlink = entries
			}
			if mode {
				row.Attr.Mode = row.Attr.Mode&^modeBits | f.st.Mode&modeBits
				if !p.beside {
					row.Change(sqlvfs.Now())
				}
			}
		}); err != nil {
			return p.storeFailed(err)
		}
		if !f.here && !f.removed && f.was != nil { // what the guest has changed since is no file of its own under this name
			p.setBaseline(f.at, f.was)
		}
	}
	p.report.Line("FILE %s (%d bytes, %s)", p.report.Name(p.guestPath(f.at)), n.Attr.Size, p.inoText(row, false))
	return p.complete(f.at, &f.st)
}

// begin writes down, of a row that the guest has not changed, that it has not when this push has only stored a part
// of what comes: each part gives the row the same change time. So the next push brings the rest.
func (p *pusher) begin(take []*found, row *sqlvfs.Inode) {
	agreed := map[string]*sqlvfs.Baseline{}
	for _, at := range p.basePaths(row.Ino) {
		agreed[at] = p.base[at]
	}
	for _, g := range take {
		agreed[g.at] = g.was
	}
	for at, was := range agreed {
		if was != nil && was.Row == row.Ino && was.RowCtime == row.Attr.Ctime {
			b := *was
			b.RowCtime = p.begun
			p.setBaseline(at, &b)
		}
	}
}

// existing returns the row of an entry if it is of the given kind, held, or nil. One of another kind, in whose place
// something is to come, is kept until all files were met: the host may have renamed that file.
func (p *pusher) existing(dir *sqlvfs.Inode, name string, want uint32) (*sqlvfs.Inode, error) {
	row, err := p.rows().child(dir, name)
	if row != nil && kind(row.Attr.Mode) != want {
		p.spared = append(p.spared, row)
		row = nil
	}
	return row, err
}

func sameOwnerAndMode(a, b *sqlvfs.Attr) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID
}

// setAttr takes over a host object's attributes; the number of names is the tree's own.
func setAttr(row *sqlvfs.Inode, attr sqlvfs.Attr) {
	attr.Nlink = row.Attr.Nlink
	row.Attr = attr
}

func baselineOf(st *unix.Stat_t, row *sqlvfs.Inode, hash []byte) *sqlvfs.Baseline {
	return &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(st), Hash: hash, Row: row.Ino, RowCtime: row.Attr.Ctime}
}

// agree writes down that a row is what the host has at a path.
func (p *pusher) agree(at string, st *unix.Stat_t, row *sqlvfs.Inode, hash []byte) {
	if !p.opt.DryRun {
		p.setBaseline(at, baselineOf(st, row, hash))
	}
}
