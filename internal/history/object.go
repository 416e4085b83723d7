package history

import (
	"errors"
	"io"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// object is what a name leads to at a moment: a row, or what the host has at a place that nobody has changed.
type object struct {
	at     *sqlvfs.Moment // that shows it
	row    *sqlvfs.Node   // nil: it is the host's
	host   string         // its path in the workspace, if the host supplies what is not in the row; "": it does not
	attr   sqlvfs.Attr
	target string  // of a symbolic link
	under  *object // the directory that was there before a pull, and has what a row does not; nil: none
	linked bool    // the host's name leads to the row, and no entry does
}

func (o *object) isDir() bool { return o != nil && o.attr.IsDir() }

// errElsewhere says that content is neither in the database nor on the host.
var errElsewhere = errors.New("its content was on the host, which has another version by now")

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

// ofHost returns what the host has at a path, as a moment shows it, or nil.
func (d *comparer) ofHost(m *sqlvfs.Moment, at string) (*object, error) {
	st, err := d.stat(at)
	if err != nil || st.Mode == 0 {
		return nil, err
	}
	if row, err := d.linkedRow(m, at, &st); row != nil || err != nil {
		return row, err
	}
	o := &object{at: m, host: at, attr: hostfs.Attr(&st)}
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
			return d.made(o, name, ino)
		}
		hidden, err := o.at.HasWhiteout(o.row.Ino, name)
		if hidden || err != nil {
			return nil, err
		}
		if o.row.Ino == sqlvfs.RootIno && name == d.name { // the guest has changed nothing in it yet
			return &object{at: o.at, host: ".", attr: sqlvfs.Attr{Mode: unix.S_IFDIR}}, nil
		}
		if o.under != nil {
			return d.child(o.under, name)
		}
		if then, ino, err := d.beforePull(o, name); then != nil || err != nil {
			if ino == 0 || err != nil {
				return nil, err
			}
			return d.object(then, ino)
		}
	}
	if o.host == "" {
		return nil, nil
	}
	return d.ofHost(o.at, path.Join(o.host, name))
}

// made is what an entry leads to. A directory that was made again after a pull has let go of it has what was in it.
func (d *comparer) made(o *object, name string, ino sqlvfs.Ino) (*object, error) {
	c, err := d.object(o.at, ino)
	if err != nil || !c.isDir() {
		return c, err
	}
	then, was, err := d.beforePull(o, name)
	if then == nil || was <= 0 || was == ino || err != nil {
		return c, err
	}
	if hidden, err := o.at.HasWhiteout(o.row.Ino, name); hidden || err != nil {
		return c, err
	}
	c.under, err = d.object(then, was)
	return c, err
}

// beforePull is [released.find], of a directory of the workspace. What history has of the host's is compared with that alone.
func (d *comparer) beforePull(o *object, name string) (*sqlvfs.Moment, sqlvfs.Ino, error) {
	if d.released == nil || o.at != d.to || o.row.Origin == nil || o.row.Origin.Base != d.name {
		return nil, 0, nil
	}
	then, ino, err := d.released.find(o.row.Ino, name)
	if ino <= 0 && d.from != d.own {
		then = nil
	}
	return then, ino, err
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
	if err == nil {
		err = o.under.rowNames(names)
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
