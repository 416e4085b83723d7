package reconcile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/reading"
	"github.com/riverlytech/art/internal/reconcile/rows"
	"github.com/riverlytech/art/sqlvfs"
)

// putDir makes an entry a directory with the host's attributes, and d.row its row. It tells of one of
// which more than the times changed: those follow from its entries. A new directory has its origin
// at the host's path, so that what appears there after the push still shows in a session.
func (p *pusher) putDir(d *folder, st *unix.Stat_t) error {
	if err := p.ensure(d.in); err != nil {
		return err
	}
	if err := p.resolve(d); err != nil {
		return err
	}
	attr := attrOf(st)
	changed := d.row == nil || !sameOwnerAndMode(&d.row.Attr, &attr)
	if !p.opt.DryRun {
		if err := p.makeDir(d, st); err != nil {
			return err
		}
		p.agree(d.rel, st, d.row, nil)
	}
	if changed && d.rel != "." {
		p.report.Line("DIR  %s (%s)", p.report.Name(p.guestPath(d.rel)), inoText(d.row))
	}
	return nil
}

func (p *pusher) makeDir(d *folder, st *unix.Stat_t) error {
	attr := attrOf(st)
	fresh := d.row == nil
	if fresh {
		row, err := p.rows().Create(attr)
		if err != nil {
			return err
		}
		d.row = row
	}
	d.in.changed = d.in.changed || fresh
	return p.rows().Update(d.in.row, d.name, d.row, func(tx *sqlvfs.Tx) {
		setAttr(d.row, attr)
		if o := d.row.Origin; fresh || d.rel == "." && o != nil && o.Fingerprint.Ino != st.Ino {
			tx.SetOrigin(d.row, &sqlvfs.Origin{
				Base: p.name, Path: d.rel, Number: uint64(d.row.Ino), Fingerprint: fingerprintOf(st), Mode: st.Mode,
			})
		}
	})
}

// symlink stores a symbolic link. What it points to is not looked at.
func (p *pusher) symlink(f *found) error {
	target, err := hostdir.Readlink(f.dir, f.name)
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
	defer func() { p.rows().Put(row) }()
	attr := attrOf(&f.st)
	attr.Size = int64(len(target))
	same, err := p.rows().Leads(row, target)
	if err != nil {
		return p.storeFailed(err)
	}
	if same && row.Attr.Mtime == attr.Mtime && sameOwnerAndMode(&row.Attr, &attr) {
		p.agree(f.at, &f.st, row, hashOf(target))
		return nil
	}
	if !p.opt.DryRun {
		if row == nil || row.Attr.Nlink > 1 {
			p.rows().Put(row)
			if row, err = p.rows().Create(attr); err != nil {
				return p.storeFailed(err)
			}
		}
		if err := p.rows().Update(f.in.row, f.name, row, func(tx *sqlvfs.Tx) { setAttr(row, attr); tx.SetTarget(row, target) }); err != nil {
			return p.storeFailed(err)
		}
		f.in.changed = true
		p.agree(f.at, &f.st, row, hashOf(target))
	}
	p.report.Line("LINK %s -> %s (%s)", p.report.Name(p.guestPath(f.at)), p.report.Name(target), inoText(row))
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
	defer func() { p.rows().Put(row) }()
	if n != nil {
		if row, err = p.rows().Get(n.Ino); err != nil {
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
			p.report.Line("FILE %s (%d bytes, %s)", p.report.Name(p.guestPath(at)), attr.Size, inoText(row))
		}
		changed = false
	}
	return nil
}

// storeFile is the part of file that changes the database. It returns the row.
func (p *pusher) storeFile(take []*found, row *sqlvfs.Inode, whole, guests bool) (*sqlvfs.Inode, error) {
	f := take[0]
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
		if row != nil {
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
		attr.Mode = attr.Mode&^modeBits | row.Attr.Mode&modeBits
	}
	if err := p.rows().Do(func(tx *sqlvfs.Tx) error { return rows.SetXattrs(tx, row, content.Xattrs) }); err != nil {
		return row, p.storeFailed(err)
	}
	p.countEntries(row, take)
	for _, g := range take {
		if err := p.enter(g, row, func(*sqlvfs.Tx) { setAttr(row, attr) }); err != nil {
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
func (p *pusher) reads(f *found) (content *reading.File, done func(), err error) {
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
	return &reading.File{Dir: dir, Name: f.name, St: f.st}, done, nil
}

// enter makes a name stand for a row, unless the guest has taken it away, and runs a change of the row.
func (p *pusher) enter(f *found, row *sqlvfs.Inode, change func(*sqlvfs.Tx)) error {
	if f.removed {
		return p.rows().Change(row, change)
	}
	if err := p.ensure(f.in); err != nil {
		return err
	}
	f.in.changed = true
	return p.rows().Update(f.in.row, f.name, row, change)
}

// countEntries has a row that a session has made for a host file with several names count entries, and those of
// the host's names only that are left as they are.
func (p *pusher) countEntries(row *sqlvfs.Inode, names []*found) {
	n, ok := p.links[row.Ino]
	if !ok && (p.named[row.Ino] > 0 || p.tree.Node(row.Ino) == nil) {
		return
	}
	delete(p.links, row.Ino)
	p.named[row.Ino] = max(p.named[row.Ino], 1)
	if p.limit != nil {
		n += uint32(max(0, int(names[0].st.Nlink)-len(names)))
	}
	row.Attr.Nlink = n
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
	row, err := p.rows().Get(n.Ino)
	if err != nil {
		return p.storeFailed(err)
	}
	defer p.rows().Put(row)
	if !p.opt.DryRun {
		p.countEntries(row, []*found{f})
		if err := p.enter(f, row, func(*sqlvfs.Tx) {
			if mode {
				row.Attr.Mode, row.Attr.Ctime = row.Attr.Mode&^modeBits|f.st.Mode&modeBits, sqlvfs.Now()
			}
		}); err != nil {
			return p.storeFailed(err)
		}
	}
	p.report.Line("FILE %s (%d bytes, %s)", p.report.Name(p.guestPath(f.at)), n.Attr.Size, inoText(row))
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

// storeContent brings the content of a host file into a row, a new one if row is nil, which it returns. Of one that was
// not read ahead, it notes what there is to know.
func (p *pusher) storeContent(f *reading.File, row *sqlvfs.Inode) (*sqlvfs.Inode, error) {
	if f.Data != nil {
		row, err := p.emptied(row, attrOf(&f.St))
		if err == nil && len(f.Data) > 0 {
			err = p.storeFailed(p.store.WriteAt(row, f.Data, 0, nil, p.begun))
			p.report.Add(0, int64(len(f.Data)))
			f.Drop()
		}
		return row, err
	}
	file, err := f.Open()
	if err != nil {
		return row, err
	}
	defer file.Close()
	if row, err = p.emptied(row, attrOf(&f.St)); err != nil {
		return row, err
	}
	hash := sha256.New()
	if err := p.copyIn(file, &f.St, row, hash); err != nil {
		return row, err
	}
	if f.St.Size-f.St.Blocks*512 <= maxHashedHoles {
		f.Hash = hash.Sum(nil)
	}
	return row, f.Finish(file)
}

// maxHashedHoles is how many bytes of holes a file may have to be known by a hash: a terabyte of zeros takes
// minutes to hash and no time to make.
const maxHashedHoles = 1 << 30

// emptied returns a row without content, a new one if row is nil.
func (p *pusher) emptied(row *sqlvfs.Inode, attr sqlvfs.Attr) (*sqlvfs.Inode, error) {
	if row != nil {
		return row, p.storeFailed(p.store.Truncate(row, 0, nil, p.begun))
	}
	row, err := p.rows().Create(attr)
	return row, p.storeFailed(err)
}

// copyIn reads a file into a row. Holes of a sparse file stay holes; of a file that has none, each
// zero is stored, since not every reader of the format knows holes.
func (p *pusher) copyIn(f *os.File, st *unix.Stat_t, row *sqlvfs.Inode, hash io.Writer) error {
	// st_blocks counts units of 512 bytes whatever the file system's block is (stat(2)).
	if st.Size < reading.BufferSize || st.Blocks*512 >= st.Size {
		return p.copyRange(f, row, hash, 0, st.Size)
	}
	hashed := int64(0)
	hashHole := func(end int64) error {
		if st.Size-st.Blocks*512 > maxHashedHoles {
			return p.interrupted()
		}
		_, err := io.CopyN(hash, zeroReader{}, end-hashed)
		return err
	}
	for off := int64(0); off < st.Size; {
		start, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
		end := st.Size
		switch {
		case err == unix.ENXIO: // nothing but a hole up to the end (lseek(2))
			start = st.Size
		case err != nil:
			return fmt.Errorf("find data: %w", err)
		default:
			if end, err = unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE); err != nil {
				return fmt.Errorf("find hole: %w", err)
			}
		}
		start, end = min(start, st.Size), min(end, st.Size)
		if err := hashHole(start); err != nil {
			return err
		}
		if err := p.copyRange(f, row, hash, start, end); err != nil {
			return err
		}
		off = end
		hashed = end
	}
	if row.Attr.Size < st.Size {
		if err := p.store.Truncate(row, st.Size, nil, p.begun); err != nil {
			return p.storeFailed(err)
		}
	}
	return nil
}

func (p *pusher) copyRange(f *os.File, row *sqlvfs.Inode, hash io.Writer, off, end int64) error {
	return reading.Pieces(p.ctx, f, off, end, func(data []byte, off int64) error {
		hash.Write(data)
		p.report.Add(0, int64(len(data)))
		return p.storeFailed(p.store.WriteAt(row, data, off, nil, p.begun))
	})
}

// existing returns the row of an entry if it is of the given kind, held, or nil. One of another kind, in whose place
// something is to come, is kept until all files were met: the host may have renamed that file.
func (p *pusher) existing(dir *sqlvfs.Inode, name string, want uint32) (*sqlvfs.Inode, error) {
	row, err := p.rows().Child(dir, name)
	if row != nil && kind(row.Attr.Mode) != want {
		p.spared = append(p.spared, row)
		row = nil
	}
	return row, err
}

// zeroReader is what a hole reads as.
type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
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
	return &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: fingerprintOf(st), Hash: hash, Row: row.Ino, RowCtime: row.Attr.Ctime}
}

// agree writes down that a row is what the host has at a path.
func (p *pusher) agree(at string, st *unix.Stat_t, row *sqlvfs.Inode, hash []byte) {
	if !p.opt.DryRun {
		p.setBaseline(at, baselineOf(st, row, hash))
	}
}

// complete brings into the database what a session has left on the host of a file that it changed a
// part of, so that the database does not need the host's any more.
func (p *pusher) complete(at string, st *unix.Stat_t) error {
	s, ok := p.supplied[at]
	if !ok || s.Limit == 0 || p.opt.DryRun || kind(st.Mode) != unix.S_IFREG {
		return nil
	}
	row, err := p.rows().Get(s.Ino)
	if err != nil {
		return p.storeFailed(err)
	}
	defer p.rows().Put(row)
	if row.Origin == nil || row.Origin.Fingerprint != fingerprintOf(st) {
		return nil
	}
	f, err := p.host.openFile(at)
	if err != nil {
		return err
	}
	defer f.Close()
	err = p.store.Fill(row, f, st.Blocks*512 < st.Size, func(int) error { return p.ctx.Err() })
	if err != nil && p.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
