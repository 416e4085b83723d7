package fs

import (
	"cmp"
	"errors"
	"syscall"
	"time"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// Lookup implements FileSystem.
func (o *Overlay) Lookup(parent Ino, name string) (Entry, error) {
	if len(name) > sqlvfs.NameMax {
		return Entry{}, syscall.ENAMETOOLONG
	}
	return query(o, viewing, func(t *tx) (Entry, error) {
		p, err := t.get(parent)
		if err != nil {
			return Entry{}, err
		}
		n, ttl, err := t.find(p, name, nil)
		if errors.Is(err, syscall.ENOENT) {
			return Entry{TTL: ttl}, nil
		}
		if err == nil {
			err = t.refresh(n)
		}
		if err != nil {
			return Entry{}, err
		}
		e := t.acquireEntry(n)
		e.TTL = ttl
		return e, nil
	})
}

// baseChild is where in the base an entry of a directory would be.
func (t *tx) baseChild(p *node, name string) (path string, ok bool) {
	switch {
	case p.base == nil || p.base.gone:
		return "", false
	case p.base.path == top:
		return ".", name == t.name
	}
	return join(p.base.path, name), true
}

// lookup finds the node of a name without granting the kernel a timeout.
func (t *tx) lookup(p *node, name string) (*node, error) {
	n, _, err := t.find(p, name, nil)
	return n, err
}

// find finds the node of a name, making it if it is not live. host, if not nil, is the directory, open: a quicker way to
// the host. ttl is for how long the kernel may keep the name, also with ENOENT.
func (t *tx) find(p *node, name string, host *HostDir) (n *node, ttl time.Duration, err error) {
	if p.gone() || t.reserved(p, name) {
		return nil, t.forever(), syscall.ENOENT
	}
	if n, err := t.deltaChild(p, name); n != nil || err != nil {
		return n, t.forever(), err
	}
	path, ok := t.baseChild(p, name)
	if !ok {
		return nil, t.forever(), syscall.ENOENT
	}
	if nothing, err := t.baseAbsent(p); nothing || err != nil {
		return nil, BaseTTL, cmp.Or(err, error(syscall.ENOENT))
	}
	if err := t.watch(p); err != nil {
		return nil, 0, err
	}
	now, err := t.lstatIn(p, name, path, host)
	switch {
	case err != nil:
		return nil, 0, err
	case errors.Is(now.err, syscall.ENOENT):
		return nil, t.grantTTL(p, name, nil, now.asked), now.err
	case now.err != nil:
		return nil, 0, now.err
	}
	if n, err = t.untouched(p, name, path, now.attr, now.fp); err != nil {
		return nil, 0, err
	}
	if n.in != nil {
		return n, BaseTTL, nil // by another name of it, which only the base knows
	}
	return n, t.grantTTL(p, name, n, now.asked), nil
}

// known returns the node of a name that the base alone has, if the kernel may keep the name and the attributes: then a watch
// tells when the host changes either. Else it is nil.
func (p *node) known(name string) *node {
	if !p.inBase() {
		return nil
	}
	n := p.base.dentries[name]
	if n == nil || n.in != nil || n.base.gone || !n.base.fresh || n.base.parent != p || n.base.name != name {
		return nil
	}
	return n
}

// deltaChild finds the node of a name in the delta: nil without an error means that the base is to
// be asked, ENOENT that there is no such name.
func (t *tx) deltaChild(p *node, name string) (*node, error) {
	if p.in == nil {
		return nil, nil
	}
	c, ok, white, err := t.db.Child(p.in, name)
	if err != nil {
		return nil, err
	}
	if ok {
		return t.deltaNode(p, name, c)
	}
	if white {
		return nil, syscall.ENOENT
	}
	return nil, nil
}

// deltaNode returns the node of an inode of the delta.
func (t *tx) deltaNode(p *node, name string, c sqlvfs.Child) (*node, error) {
	if n := t.liveChild(c); n != nil {
		n.parentIno = p.ino
		return n, nil
	}
	in, err := t.db.Get(c.Ino)
	if err != nil {
		return nil, err
	}
	n := &node{ino: Ino(in.Number()), in: in, parentIno: p.ino}
	if t.nodes[n.ino] != nil {
		// Two inodes claim one number, because the host has used it again since the copy-up.
		n.ino = Ino(in.Ino)
	}
	for t.nodes[n.ino] != nil {
		n.ino = another(n.ino) // a directory that was removed has it, and is there again
	}
	if err := t.attachBase(p, name, n); err != nil {
		t.db.Put(in)
		return nil, err
	}
	if n.ino != Ino(in.Number()) {
		t.displace(Ino(in.Ino), n)
	}
	t.add(n)
	return n, nil
}

// attachBase tells a node of the delta where its origin is, if the base it is in is the one we have.
func (t *tx) attachBase(p *node, name string, n *node) error {
	if t.host == nil {
		return nil
	}
	if org := n.in.Origin; org != nil {
		if org.Base == t.name {
			n.base = &base{path: org.Path}
		}
		return nil
	}
	if !n.in.Attr.IsDir() {
		return nil
	}
	path, ok, err := t.mergeBase(p, name)
	if ok {
		n.base = &base{path: path}
	}
	return err
}

// untouched returns the node of an object of the base.
func (t *tx) untouched(p *node, name, path string, attr sqlvfs.Attr, fp sqlvfs.Fingerprint) (*node, error) {
	number := t.baseNumber(fp)
	if attr.Nlink > 1 && !attr.IsDir() {
		// Another name of it may have been changed already; both are one inode.
		if n, err := t.copiedUp(p, name, number, &fp); n != nil || err != nil {
			if err == nil {
				err = t.countName(n, path, attr.Nlink)
			}
			return n, err
		}
	}
	own := number
	if other, ok := t.elsewhere[own]; ok {
		if n := t.nodes[other]; n.in == nil && !n.base.gone && n.base.path == path {
			number = other
		}
	}
	n := t.nodes[number]
	for n != nil && (n.in != nil || n.base.gone || n.base.path != path && attr.Nlink == 1) {
		// The number is taken by what used to have it on the host, before it was removed there.
		number = another(number)
		n = t.nodes[number]
	}
	if n == nil {
		both := &struct {
			node
			own base
		}{node: node{ino: number}} // one allocation for each file that is found
		n, both.base = &both.node, &both.own
		t.add(n)
		t.displace(own, n)
	}
	t.setParent(n, p)
	if n.base.watch != nil && n.base.path != path {
		t.revoke(n) // moved by the host
	}
	n.base.name, n.base.path, n.parentIno = name, path, p.ino
	t.refreshNode(n, attr, fp)
	return n, nil
}

// repath corrects where an untouched node is in the base, if the host has moved a directory above it,
// and tells whether it had to.
func (n *node) repath() bool {
	if n.in != nil || n.base.gone || n.base.parent == nil || !n.base.parent.inBase() {
		return false
	}
	n.base.parent.repath()
	path := join(n.base.parent.base.path, n.base.name)
	if path == n.base.path {
		return false
	}
	n.base.path = path
	return true
}

// copiedUp finds the delta's inode of a base object that has several names.
func (t *tx) copiedUp(p *node, name string, number Ino, fp *sqlvfs.Fingerprint) (*node, error) {
	if n := t.nodes[number]; n == nil {
		ino, err := t.db.FindNumber(uint64(number))
		if err != nil {
			return nil, err
		}
		if n, err := t.standing(p, name, ino, fp); n != nil || err != nil {
			return n, err
		}
	} else if n.in != nil && t.stands(n.in, fp) {
		return n, nil
	}
	ino, err := t.db.FindObject(t.name, fp) // a pull has put it there
	if err != nil {
		return nil, err
	}
	return t.standing(p, name, ino, fp)
}

// stands tells whether an inode of the delta is what the guest has of a version of a base object.
func (t *tx) stands(in *sqlvfs.Inode, fp *sqlvfs.Fingerprint) bool {
	o := in.Origin
	return in.Attr.Nlink > 0 && o != nil && o.Base == t.name && o.Dev == fp.Dev && o.Fingerprint.Ino == fp.Ino && o.Mtime == fp.Mtime && o.Size == fp.Size
}

// standing returns the node of an inode of the delta, if there is one and it stands for a version of a base object.
func (t *tx) standing(p *node, name string, ino sqlvfs.Ino, fp *sqlvfs.Fingerprint) (*node, error) {
	if ino == 0 {
		return nil, nil
	}
	in, err := t.db.Get(ino)
	if errors.Is(err, sqlvfs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer t.db.Put(in)
	if !t.stands(in, fp) {
		return nil, nil
	}
	return t.deltaNode(p, name, sqlvfs.Child{Name: name, Ino: ino, Number: in.Number(), Mode: in.Attr.Mode})
}

// Getattr implements FileSystem.
func (o *Overlay) Getattr(ino Ino) (Entry, error) {
	return query(o, viewing, func(t *tx) (Entry, error) {
		n, err := t.get(ino)
		if err == nil {
			err = t.revalidate(n)
		}
		if err == nil {
			err = t.refresh(n)
		}
		if err != nil {
			return Entry{}, err
		}
		return t.entry(n), nil
	})
}

// Birth implements FileSystem.
func (o *Overlay) Birth(ino Ino) (born sqlvfs.Timespec, ok bool, err error) {
	ok, err = query(o, viewing, func(t *tx) (bool, error) {
		n, err := t.get(ino)
		if err != nil {
			return false, err
		}
		if n.in != nil {
			born, ok, err = t.db.Birth(n.in)
			return ok, err
		}
		if n.base.gone {
			return false, nil
		}
		now, err := t.ask(fact{kind: objectFact, path: n.base.path})
		if err != nil || now.err != nil || !hostfs.SameObject(now.fp, n.base.fp) {
			return false, err
		}
		born = now.birth
		return now.born, nil
	})
	return born, ok, err
}

// revalidate brings an untouched node's attributes up to date.
func (t *tx) revalidate(n *node) error {
	if n.in != nil || n.base.gone {
		return nil
	}
	now, err := t.lstatIn(n.base.parent, n.base.name, n.base.path, nil)
	if err != nil {
		return err
	}
	gone := oneOf(now.err, syscall.ENOENT, syscall.ENOTDIR) || now.err == nil && !hostfs.SameObject(now.fp, n.base.fp)
	switch {
	case gone && n.repath():
		return t.revalidate(n)
	case gone:
		// The name is another object's now, which a new lookup finds. To those who have this one open, what it
		// was when last seen is the best answer there is.
		n.base.fresh = false
		return nil
	case now.err != nil:
		return now.err
	}
	t.refreshNode(n, now.attr, now.fp)
	if named, ok := n.base.parent.base.dentries[n.base.name]; ok && named != n {
		n.base.fresh = false // the kernel has another inode for the object by now, of which an event tells
		return nil
	}
	t.grantTTL(n.base.parent, n.base.name, n, now.asked)
	return nil
}
