package fs

import (
	"syscall"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// Lookup implements FileSystem.
func (o *Overlay) Lookup(parent Ino, name string) (Entry, error) {
	if len(name) > sqlvfs.NameMax {
		return Entry{}, syscall.ENAMETOOLONG
	}
	o.store.Lock()
	defer o.store.Unlock()
	p, err := o.get(parent)
	if err != nil {
		return Entry{}, err
	}
	n, ttl, err := o.find(p, name, nil)
	for err == nil && o.renew(n) {
		n, ttl, err = o.find(p, name, nil)
	}
	if err == syscall.ENOENT {
		return Entry{TTL: ttl}, nil
	}
	if err != nil {
		return Entry{}, err
	}
	n.holds++
	err = o.follow(n)
	o.renew(n)
	n.holds--
	if err != nil {
		o.drop(n)
		return Entry{}, err
	}
	e := o.hold(n)
	e.TTL = ttl
	return e, nil
}

// baseChild is where in the base an entry of a directory would be. Lock held.
func (o *Overlay) baseChild(p *node, name string) (path string, ok bool) {
	switch {
	case !p.based:
		return "", false
	case p.path == top:
		return ".", name == o.name
	}
	return join(p.path, name), true
}

// lstatFunc asks the host for an entry of a directory.
type lstatFunc func() (sqlvfs.Attr, sqlvfs.Fingerprint, error)

// lookup is find for who does not tell the kernel.
func (o *Overlay) lookup(p *node, name string, lstat lstatFunc) (*node, error) {
	n, _, err := o.find(p, name, lstat)
	return n, err
}

// find finds the node of a name, making it if it is not live. The node is not held: it must be
// held or dropped before the lock is let go of. lstat, if not nil, is a quicker way to the host.
// ttl is for how long the kernel may keep the name, also with ENOENT.
// Lock held; it is let go of while the host is asked.
func (o *Overlay) find(p *node, name string, lstat lstatFunc) (n *node, ttl time.Duration, err error) {
	if p.gone || o.reserved(p, name) {
		return nil, o.forever(), syscall.ENOENT
	}
	if n, err := o.deltaChild(p, name); n != nil || err != nil {
		return n, o.forever(), err
	}
	if _, ok := o.baseChild(p, name); !ok {
		return nil, o.forever(), syscall.ENOENT
	}
	p.holds++
	o.watchDir(p, nil, 0)
	path, _ := o.baseChild(p, name)
	if lstat == nil {
		lstat = func() (sqlvfs.Attr, sqlvfs.Fingerprint, error) { return o.host.Lstat(path) }
	}
	asked := o.clock()
	o.store.Unlock()
	attr, fp, err := lstat()
	o.store.Lock()
	p.holds--
	if err != nil && err != syscall.ENOENT {
		return nil, 0, err
	}
	// While the lock was not held, the name may have been made, removed or renamed.
	if n, err := o.deltaChild(p, name); n != nil || err != nil {
		return n, o.forever(), err
	}
	if again, ok := o.baseChild(p, name); !ok || again != path || p.gone {
		return nil, o.forever(), syscall.ENOENT
	}
	if err != nil {
		return nil, o.told(p, name, nil, asked), err
	}
	if n, err = o.untouched(p, name, path, attr, fp); err != nil {
		return nil, 0, err
	}
	if n.in != nil {
		return n, BaseTTL, nil // by another name of it, which only the base knows
	}
	return n, o.told(p, name, n, asked), nil
}

// deltaChild finds the node of a name in the delta: nil without an error means that the base is to
// be asked, ENOENT that there is no such name. Lock held.
func (o *Overlay) deltaChild(p *node, name string) (*node, error) {
	if p.in == nil {
		return nil, nil
	}
	c, ok, white, err := o.store.Child(p.in, name)
	if err != nil {
		return nil, err
	}
	if ok {
		return o.deltaNode(p, name, c)
	}
	if white {
		return nil, syscall.ENOENT
	}
	return nil, nil
}

// deltaNode returns the node of an inode of the delta. Lock held.
func (o *Overlay) deltaNode(p *node, name string, c sqlvfs.Child) (*node, error) {
	for _, number := range []Ino{Ino(c.Number), Ino(c.Ino)} {
		if n := o.nodes[number]; n != nil && n.in != nil && n.in.Ino == c.Ino {
			n.parentIno = p.ino
			return n, nil
		}
	}
	in, err := o.store.Get(c.Ino)
	if err != nil {
		return nil, err
	}
	n := &node{ino: Ino(in.Number()), in: in, parentIno: p.ino}
	if o.nodes[n.ino] != nil {
		// Two inodes claim one number, because the host has used it again since the copy-up.
		n.ino = Ino(in.Ino)
	}
	if o.nodes[n.ino] != nil {
		o.store.Put(in)
		return nil, syscall.EIO
	}
	if err := o.attach(p, name, n); err != nil {
		o.store.Put(in)
		return nil, err
	}
	o.nodes[n.ino] = n
	return n, nil
}

// attach tells a node of the delta where its origin is, if the base it is in is the one we have.
// The workspace itself, made by a push and so without an origin, is laid over the host's, unless
// the guest has removed that one before. Lock held.
func (o *Overlay) attach(p *node, name string, n *node) error {
	if o.host == nil {
		return nil
	}
	if org := n.in.Origin; org != nil {
		n.path, n.based = org.Path, org.Base == o.name
		return nil
	}
	if o.inner || p.ino != RootIno || name != o.name || !n.in.Attr.IsDir() {
		return nil
	}
	names, err := o.store.Whiteouts(p.in)
	if err != nil {
		return err
	}
	for _, w := range names {
		if w == name {
			return nil
		}
	}
	n.path, n.based = ".", true
	return nil
}

// untouched returns the node of an object of the base. Lock held.
func (o *Overlay) untouched(p *node, name, path string, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) (*node, error) {
	number := o.baseNumber(fp)
	if attr.Nlink > 1 && !attr.IsDir() {
		// Another name of it may have been changed already; both are one inode.
		if n, err := o.copiedUp(p, number, fp); n != nil || err != nil {
			return n, err
		}
	}
	n := o.nodes[number]
	if n != nil && (n.in != nil || n.gone || n.path != path && attr.Nlink == 1) {
		// The number is taken by what used to have it on the host, before it was removed there.
		if n.in == nil && !n.gone && !o.wanted(n) {
			delete(o.nodes, number)
			n = nil
		} else {
			for n != nil && (n.in != nil || n.path != path) {
				number = number&^(1<<51-1) | 1<<51 | (number*0x9e3779b97f4a7c15>>13)&(1<<51-1)
				n = o.nodes[number]
			}
		}
	}
	if n == nil {
		n = &node{ino: number}
		o.nodes[number] = n
	}
	if n.parent != p {
		if n.parent != nil {
			n.parent.holds--
			o.drop(n.parent)
		}
		n.parent = p
		p.holds++
	}
	if n.watch != nil && n.path != path {
		o.distrust(n) // moved by the host
	}
	n.name, n.path, n.based, n.parentIno = name, path, true, p.ino
	o.update(n, attr, fp)
	return n, nil
}

// repath corrects where an untouched node is in the base, if the host has moved a directory above it,
// and tells whether it had to. Lock held.
func (n *node) repath() bool {
	if n.in != nil || n.gone || n.parent == nil || n.parent.path == top {
		return false
	}
	n.parent.repath()
	path := join(n.parent.path, n.name)
	if path == n.path {
		return false
	}
	n.path = path
	return true
}

// wanted tells whether anything refers to a node. Lock held.
func (o *Overlay) wanted(n *node) bool { return n.lookups > 0 || n.holds > 0 }

// copiedUp finds the delta's inode of a base object that has several names. Lock held.
func (o *Overlay) copiedUp(p *node, number Ino, fp sqlvfs.Fingerprint) (*node, error) {
	same := func(org *sqlvfs.Origin) bool {
		return org != nil && org.Base == o.name && org.Dev == fp.Dev && org.Fingerprint.Ino == fp.Ino && org.Mtime == fp.Mtime && org.Size == fp.Size
	}
	if n := o.nodes[number]; n != nil {
		if n.in != nil && n.in.Attr.Nlink > 0 && same(n.in.Origin) {
			return n, nil
		}
		return nil, nil
	}
	ino, err := o.store.FindNumber(uint64(number))
	if ino == 0 || err != nil {
		return nil, err
	}
	in, err := o.store.Get(ino)
	if err != nil {
		return nil, err
	}
	if in.Attr.Nlink == 0 || !same(in.Origin) {
		o.store.Put(in)
		return nil, nil
	}
	n := &node{ino: number, in: in, path: in.Origin.Path, based: in.Origin.Base == o.name, parentIno: p.ino}
	o.nodes[number] = n
	return n, nil
}

// Getattr implements FileSystem.
func (o *Overlay) Getattr(ino Ino) (Entry, error) {
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return Entry{}, err
	}
	if err := o.look(n); err != nil {
		return Entry{}, err
	}
	if err := o.follow(n); err != nil {
		return Entry{}, err
	}
	o.renew(n)
	return o.entry(n), nil
}

// look brings an untouched node's attributes up to date. Lock held; it is let go of while the host
// is asked.
func (o *Overlay) look(n *node) error {
	if n.in != nil || n.gone {
		return nil
	}
	path, was, asked := n.path, n.fp, o.clock()
	n.holds++
	o.store.Unlock()
	attr, fp, err := o.host.Lstat(path)
	o.store.Lock()
	n.holds--
	if n.in != nil || n.gone {
		return nil
	}
	gone := err == syscall.ENOENT || err == syscall.ENOTDIR || err == nil && !sameObject(fp, was)
	if gone && n.repath() {
		return o.look(n)
	}
	if gone {
		// The name is another object's now, which a new lookup finds. For who has this one open, what it
		// was when last seen is the best answer there is.
		n.fresh = false
		return nil
	}
	if err != nil {
		return err
	}
	o.update(n, attr, fp)
	if n.path == path {
		o.told(n.parent, n.name, n, asked)
	}
	return nil
}
