package history

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// object is what a name leads to at a moment: a row, or what the host has at a place that nobody has changed.
type object struct {
	at     *sqlvfs.Moment // of a row; nil: it is the host's
	row    *sqlvfs.Node   // same
	host   string         // its path in the workspace, if the host supplies what is not in the row; "": it does not
	attr   sqlvfs.Attr
	target string // of a symbolic link
}

func (o *object) isDir() bool { return o != nil && o.attr.IsDir() }

// errElsewhere says that content is neither in the database nor on the host.
var errElsewhere = errors.New("its content was on the host, which has another version by now")

// run compares the two moments from the root on.
func (d *comparer) run() (err error) {
	earlier, later := d.from, d.to
	if c := later.Checkpoint(); c != nil && c.ID < earlier.Checkpoint().ID {
		earlier, later = later, earlier
	}
	if d.may, err = later.Since(earlier); err != nil {
		return err
	}
	old, err := d.object(d.from, sqlvfs.RootIno)
	if err != nil {
		return err
	}
	now, err := d.object(d.to, sqlvfs.RootIno)
	if err != nil {
		return err
	}
	top := &change{path: ".", from: ".", old: old, now: now}
	if err := d.compareEntries(top); err != nil {
		return err
	}
	return d.match()
}

// object returns a row; nil: it is not there.
func (d *comparer) object(m *sqlvfs.Moment, ino sqlvfs.Ino) (*object, error) {
	n, err := m.Node(ino)
	if n == nil || err != nil {
		return nil, err
	}
	o := &object{at: m, row: n, attr: n.Attr, target: n.Target}
	if n.Origin != nil && n.Origin.Base == d.name && (n.Attr.IsDir() || n.Origin.Limit > 0) {
		o.host = n.Origin.Path
	}
	return o, nil
}

// stat is what the host has at a path of the workspace; zero: nothing.
func (d *comparer) stat(at string) (st unix.Stat_t, err error) {
	if d.host == nil {
		return st, nil
	}
	f, err := hostfs.Open(d.host, at, unix.O_PATH)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EACCES), errors.Is(err, unix.EXDEV):
		return st, nil // as far as a guest could see
	case err != nil:
		return st, err
	}
	defer f.Close()
	return hostfs.Stat(f)
}

// ofHost returns what the host has at a path, or nil.
func (d *comparer) ofHost(at string) (*object, error) {
	st, err := d.stat(at)
	if err != nil || st.Mode == 0 {
		return nil, err
	}
	o := &object{host: at, attr: hostfs.Attr(&st)}
	if o.attr.IsSymlink() {
		parent, err := hostfs.Open(d.host, path.Dir(at), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return nil, err
		}
		defer parent.Close()
		o.target, err = hostfs.Readlink(parent, path.Base(at))
		return o, err
	}
	return o, nil
}

// child returns what a name in a directory leads to, or nil.
func (d *comparer) child(o *object, name string) (*object, error) {
	if !o.isDir() {
		return nil, nil
	}
	if o.row != nil {
		ino, err := o.at.Entry(o.row.Ino, name)
		if err != nil {
			return nil, err
		}
		if ino != 0 {
			return d.object(o.at, ino)
		}
		hidden, err := o.at.HasWhiteout(o.row.Ino, name)
		if hidden || err != nil {
			return nil, err
		}
		if o.row.Ino == sqlvfs.RootIno && name == d.name { // the guest has changed nothing in it yet
			return &object{host: ".", attr: sqlvfs.Attr{Mode: unix.S_IFDIR}}, nil
		}
	}
	if o.host == "" {
		return nil, nil
	}
	return d.ofHost(path.Join(o.host, name))
}

// rowNames are the names that a directory's rows speak of.
func (o *object) rowNames(names map[string]bool) error {
	if !o.isDir() || o.row == nil {
		return nil
	}
	list, err := o.at.Entries(o.row.Ino)
	if err != nil {
		return err
	}
	for _, e := range list {
		names[e.Name] = true
	}
	hidden, err := o.at.Whiteouts(o.row.Ino)
	for _, name := range hidden {
		names[name] = true
	}
	return err
}

// allNames are all names in a directory.
func (d *comparer) allNames(o *object, names map[string]bool) error {
	if err := o.rowNames(names); err != nil || !o.isDir() || o.host == "" || d.host == nil {
		return err
	}
	f, err := hostfs.Open(d.host, o.host, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil // as far as a guest could see
	}
	defer f.Close()
	list, _ := hostfs.Names(f)
	for _, name := range list {
		names[name] = true
	}
	return nil
}

// names are those in two directories, or in one, that may differ.
func (d *comparer) names(c *change) ([]string, error) {
	names := map[string]bool{}
	var err error
	old, now := c.old, c.now
	same := old.isDir() && now.isDir() && old.host == now.host
	switch {
	case same && old.row != nil && now.row != nil && old.row.Ino == now.row.Ino && !d.all(c):
		maps.Copy(names, d.may.Names[old.row.Ino])
	case same && !d.all(c):
		if err = old.rowNames(names); err == nil {
			err = now.rowNames(names)
		}
	default:
		if err = d.allNames(old, names); err == nil {
			err = d.allNames(now, names)
		}
	}
	return slices.Sorted(maps.Keys(names)), err
}

// all tells whether all that is in a directory is to be shown: a patch has no words for a directory, and so not for a renamed one.
func (d *comparer) all(c *change) bool { return c.path != c.from && d.opt.Form.Lines() }

// compareEntries compares what is in two directories.
func (d *comparer) compareEntries(c *change) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if len(c.path) > unix.PathMax {
		return nil // no program can name what is there
	}
	names, err := d.names(c)
	if err != nil {
		return err
	}
	for _, name := range names {
		if c.path == "." && sqlvfs.IsLayer(name) {
			continue
		}
		e := &change{path: path.Join(c.path, name), from: path.Join(c.from, name)}
		if e.old, err = d.child(c.old, name); err != nil {
			return err
		}
		if e.now, err = d.child(c.now, name); err != nil {
			return err
		}
		if err := d.compare(e); err != nil {
			return err
		}
	}
	return nil
}

// compare compares what is at one path.
func (d *comparer) compare(c *change) error {
	old, now := c.old, c.now
	switch {
	case old == nil && now == nil:
		return nil
	case old == nil || now == nil:
		d.came = append(d.came, c)
		return nil
	case old.row != nil && now.row != nil && old.row.Ino == now.row.Ino && !d.may.Inodes[old.row.Ino] && d.may.Names[old.row.Ino] == nil && c.path == c.from:
		return nil
	case (old.attr.Mode^now.attr.Mode)&unix.S_IFMT != 0:
		c.letter = 'T'
	case now.isDir():
		if c.path != d.name && !sameAttributes(old, now) {
			c.letter = 'T'
		}
	default:
		same, err := d.sameContent(old, now)
		switch {
		case err != nil:
			return err
		case !same:
			c.letter = 'M'
		case !sameAttributes(old, now):
			c.letter = 'T'
		}
	}
	if c.path != c.from && !now.isDir() && (c.letter != 0 || d.opt.Form.Lines()) {
		c.letter = 'R' // with a directory above it
	}
	if c.letter != 0 {
		d.changes = append(d.changes, c)
	}
	if !old.isDir() && !now.isDir() {
		return nil
	}
	return d.compareEntries(c)
}

// sameAttributes compares modes, owners and extended attributes. Of the host's, only modes are known as a guest saw them.
func sameAttributes(a, b *object) bool {
	if !a.attr.IsSymlink() && (a.attr.Mode^b.attr.Mode)&0o7777 != 0 {
		return false
	}
	return a.row == nil || b.row == nil || a.attr.UID == b.attr.UID && a.attr.GID == b.attr.GID && maps.Equal(a.row.Xattrs, b.row.Xattrs)
}

// sameContent compares files that are no directories. What is known to be the same is not read.
func (d *comparer) sameContent(old, now *object) (bool, error) {
	switch {
	case old.attr.IsSymlink():
		return old.target == now.target, nil
	case !old.attr.IsRegular():
		return old.attr.Rdev == now.attr.Rdev, nil
	case old.attr.Size != now.attr.Size:
		return false, nil
	case old.row == nil && now.row == nil:
		return old.host == now.host, nil
	case old.row == nil:
		if now.row.Follows() && now.host == old.host {
			return true, nil
		}
	case now.row == nil:
		if old.row.Follows() && now.host == old.host {
			return true, nil
		}
	case old.row.Ino == now.row.Ino && !d.may.Content[old.row.Ino] && sameOrigin(old.row.Origin, now.row.Origin):
		return true, nil
	}
	a, err := d.open(old)
	if err != nil {
		return unknown(err)
	}
	defer a.close()
	b, err := d.open(now)
	if err != nil {
		return unknown(err)
	}
	defer b.close()
	one, two := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < old.attr.Size; off += int64(len(one)) {
		if err := d.ctx.Err(); err != nil {
			return false, err
		}
		n := min(int64(len(one)), old.attr.Size-off)
		if err := a.read(one[:n], off); err != nil {
			return unknown(err)
		}
		if err := b.read(two[:n], off); err != nil {
			return unknown(err)
		}
		if !bytes.Equal(one[:n], two[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// unknown is how files compare of which the content of one is gone: they are not the same.
func unknown(err error) (bool, error) {
	if errors.Is(err, errElsewhere) {
		err = nil
	}
	return false, err
}

func sameOrigin(a, b *sqlvfs.Origin) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Path == b.Path && a.Fingerprint == b.Fingerprint && a.Limit == b.Limit
}

// reader reads a file's content.
type reader struct {
	read  func(p []byte, off int64) error
	close func()
}

// open opens a regular file's content. What the host supplies must be what it was.
func (d *comparer) open(o *object) (*reader, error) {
	r := &reader{close: func() {}}
	var base io.ReaderAt
	if o.host != "" && d.host != nil {
		f, err := hostfs.Open(d.host, o.host, unix.O_RDONLY|unix.O_NONBLOCK)
		if err != nil && o.row == nil {
			return nil, errElsewhere
		}
		if err == nil {
			st, err := hostfs.Stat(f)
			if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || o.row != nil && hostfs.Fingerprint(&st) != o.row.Origin.Fingerprint {
				f.Close()
				if o.row == nil {
					return nil, errElsewhere
				}
			} else {
				base, r.close = f, func() { f.Close() }
			}
		}
	}
	r.read = func(p []byte, off int64) (err error) {
		if o.row != nil {
			err = o.at.ReadAt(o.row, p, off, base)
		} else if base == nil {
			err = errElsewhere
		} else if n, rerr := base.ReadAt(p, off); n < len(p) && rerr != nil {
			err = rerr
		}
		if errors.Is(err, sqlvfs.ErrNoBase) || errors.Is(err, sqlvfs.ErrBaseChanged) || errors.Is(err, io.EOF) {
			err = errElsewhere
		}
		return hostfs.Unwrap(err)
	}
	return r, nil
}

// content is all of a file's content, or a symbolic link's target.
func (d *comparer) content(o *object) ([]byte, error) {
	if o.attr.IsSymlink() {
		return []byte(o.target), nil
	}
	r, err := d.open(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	data := make([]byte, o.attr.Size)
	return data, r.read(data, 0)
}

// match finds what was renamed among what has come and gone, and shows the rest as such, with all that is in it.
func (d *comparer) match() error {
	for len(d.came) > 0 {
		list := d.came
		d.came = nil
		gone := map[any]*change{}
		for _, c := range list {
			if c.old != nil {
				gone[c.old.key()] = c
			}
		}
		var rest []*change
		for _, c := range list {
			if c.now == nil {
				continue
			}
			from := c.now.from(gone)
			if from == nil {
				rest = append(rest, c)
				continue
			}
			delete(gone, from.old.key())
			if err := d.renamed(&change{letter: 'R', path: c.path, from: from.from, old: from.old, now: c.now}); err != nil {
				return err
			}
		}
		for _, c := range list {
			if c.old != nil && gone[c.old.key()] == c {
				rest = append(rest, c)
			}
		}
		for _, c := range rest {
			if c.letter = 'A'; c.now == nil {
				c.letter = 'D'
			}
			d.changes = append(d.changes, c)
			if err := d.compareEntries(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// key is what an object is known by, wherever it is.
func (o *object) key() any {
	if o.row != nil {
		return o.row.Ino
	}
	return o.host
}

// from returns what was the object before it was renamed, of what is gone.
func (o *object) from(gone map[any]*change) *change {
	if o.row == nil {
		return nil
	}
	c := gone[o.row.Ino]
	if c == nil && o.row.Origin != nil {
		c = gone[o.row.Origin.Path]
	}
	if c == nil || (c.old.attr.Mode^o.attr.Mode)&unix.S_IFMT != 0 {
		return nil
	}
	return c
}

// renamed shows what was renamed, and what else is another in it.
func (d *comparer) renamed(c *change) error {
	d.changes = append(d.changes, c)
	if !c.now.isDir() {
		return nil
	}
	return d.compareEntries(c)
}
