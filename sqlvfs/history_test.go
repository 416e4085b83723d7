package sqlvfs

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
)

// node is an inode of the model that a Store's history is told with.
type node struct {
	ino    Ino
	attr   Attr
	target string
	origin string
	data   []byte
	xattrs map[string]string
	kids   map[string]*node
	white  map[string]bool
}

func (n *node) isDir() bool { return n.attr.IsDir() }

var hashSeed = maphash.MakeSeed()

// sum stands for a tree as a whole.
func (n *node) sum() uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	n.write(&h, "/")
	return h.Sum64()
}

// write describes a tree, a line for each name.
func (n *node) write(w io.Writer, path string) {
	fmt.Fprintf(w, "%q %d %+v %q %q %x", path, n.ino, n.attr, n.target, n.origin, maphash.Bytes(hashSeed, n.data))
	for _, name := range slices.Sorted(maps.Keys(n.xattrs)) {
		fmt.Fprintf(w, " %q=%q", name, n.xattrs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(n.white)) {
		fmt.Fprintf(w, " -%q", name)
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(n.kids)) {
		n.kids[name].write(w, path+name+"/")
	}
}

func (n *node) String() string {
	var b strings.Builder
	n.write(&b, "/")
	return b.String()
}

// maxModel is how much of a file the model has, in bytes, which is more than any that a test makes: who tampers with a database can say
// that one is of any size.
const maxModel = 16 << 20

// readTree reads a Store's whole tree.
func readTree(s *Store) (*node, error) { return readInode(s, RootIno, map[Ino]*node{}) }

func readInode(s *Store, ino Ino, known map[Ino]*node) (*node, error) {
	if n := known[ino]; n != nil {
		return n, nil
	}
	in, err := Query(s, func(tx *Tx) (*Inode, error) { return tx.Get(ino) })
	if err != nil {
		return nil, err
	}
	defer put(s, in)
	n := &node{ino: ino, attr: in.Attr, target: in.target, xattrs: map[string]string{}}
	known[ino] = n
	if in.Origin != nil {
		n.origin = in.Origin.Path
	}
	if in.Attr.IsRegular() {
		n.data = make([]byte, max(0, min(in.Attr.Size, maxModel)))
		if _, err := s.ReadAt(in, n.data, 0, nil); err != nil && err != io.EOF {
			return nil, err
		}
	}
	var children []Child
	err = s.View(func(tx *Tx) error {
		names, err := tx.Xattrs(in)
		for _, name := range names {
			value, _, xerr := tx.Xattr(in, name)
			n.xattrs[name], err = string(value), errors.Join(err, xerr)
		}
		if err != nil || !n.isDir() {
			return err
		}
		n.kids, n.white = map[string]*node{}, map[string]bool{}
		whiteouts, err := tx.Whiteouts(in)
		for _, name := range whiteouts {
			n.white[name] = true
		}
		if err == nil {
			children, err = tx.Children(in)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		if n.kids[c.Name], err = readInode(s, c.Ino, known); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// place is a name in the model.
type place struct {
	dir  *node
	name string
}

// actor does to a Store and to the model what a random number says. Each step is one that the
// Store promises to keep whole.
type actor struct {
	s    *Store
	rnd  *rand.Rand
	root *node
	now  int64    // ticks with every step
	open []*Inode // somebody has them open; most have lost their names
}

func (a *actor) time() Timespec { return Timespec{Sec: a.now, Nsec: int32(a.now % 1000)} }

// places lists all names that a filter lets pass, in an order that does not depend on the maps'.
func (a *actor) places(pass func(*node) bool) (list []place) {
	var walk func(dir *node)
	walk = func(dir *node) {
		for _, name := range slices.Sorted(maps.Keys(dir.kids)) {
			if pass(dir.kids[name]) {
				list = append(list, place{dir, name})
			}
			if dir.kids[name].isDir() {
				walk(dir.kids[name])
			}
		}
	}
	walk(a.root)
	return list
}

// any picks a name, or none.
func (a *actor) any(pass func(*node) bool) (place, *node) {
	list := a.places(pass)
	if len(list) == 0 {
		return place{}, nil
	}
	p := list[a.rnd.IntN(len(list))]
	return p, p.dir.kids[p.name]
}

func (a *actor) anyDir() *node {
	if _, n := a.any((*node).isDir); n != nil && a.rnd.IntN(3) > 0 {
		return n
	}
	return a.root
}

// with runs a step on inodes that it holds meanwhile.
func (a *actor) with(step func(tx *Tx, in ...*Inode) error, nodes ...*node) error {
	return a.s.Update(func(tx *Tx) error {
		var held []*Inode
		for _, n := range nodes {
			in, err := tx.Get(n.ino)
			if err != nil {
				return err
			}
			defer tx.Put(in)
			held = append(held, in)
		}
		return step(tx, held...)
	})
}

func regular(n *node) bool   { return n.attr.IsRegular() }
func linkable(n *node) bool  { return !n.isDir() }
func removable(n *node) bool { return len(n.kids) == 0 }

// step changes something.
func (a *actor) step() error {
	a.now++
	size := len(a.places(func(*node) bool { return true }))
	switch pick := a.rnd.IntN(100); {
	case size < 4 || pick < 18 && size < 24:
		return a.create()
	case pick < 45:
		return a.content()
	case pick < 56:
		return a.remove()
	case pick < 70:
		return a.rename()
	case pick < 75:
		return a.link()
	case pick < 83:
		return a.xattr()
	case pick < 88:
		return a.whiteout()
	case pick < 93:
		return a.unnamed()
	}
	return a.chmod()
}

func (a *actor) create() error {
	dir, name := a.anyDir(), fmt.Sprintf("n%d", a.rnd.IntN(30))
	if dir.kids[name] != nil {
		return nil
	}
	n := &node{attr: Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 1, Mtime: a.time()}, xattrs: map[string]string{}}
	switch a.rnd.IntN(5) {
	case 0:
		n.attr.Mode, n.attr.Nlink = syscall.S_IFDIR|0o755, 2
		n.kids, n.white = map[string]*node{}, map[string]bool{}
		if a.rnd.IntN(2) == 0 {
			n.origin = fmt.Sprintf("host/%d", a.now)
		}
	case 1:
		n.target = strings.Repeat("t", 1+a.rnd.IntN(100))
		n.attr.Mode, n.attr.Size = syscall.S_IFLNK|0o777, int64(len(n.target))
	}
	return a.with(func(tx *Tx, in ...*Inode) error {
		made, err := tx.New(n.attr)
		if err != nil {
			return err
		}
		defer tx.Put(made)
		if n.target != "" {
			tx.SetTarget(made, n.target)
		}
		if n.origin != "" {
			tx.SetOrigin(made, &Origin{Base: fmt.Sprintf("ws%d", a.now%3), Path: n.origin, Number: uint64(MaxIno) + uint64(a.now)})
		}
		n.ino = made.Ino
		dir.kids[name] = n
		return tx.Link(in[0], name, made)
	}, dir)
}

// content writes, cuts or zeroes part of a file.
func (a *actor) content() error {
	_, n := a.any(regular)
	if n == nil {
		return a.create()
	}
	var in *Inode
	if err := a.with(func(tx *Tx, held ...*Inode) error { in = held[0]; in.refs++; return nil }, n); err != nil {
		return err
	}
	defer put(a.s, in)
	limit := 5 * a.s.ChunkSize() / 2
	off, length := a.rnd.Int64N(limit), a.rnd.Int64N(limit)
	if a.rnd.IntN(2) == 0 {
		length = a.rnd.Int64N(300) // most writes are small
	}
	var data []byte
	var err error
	switch a.rnd.IntN(6) {
	case 0:
		data = resizedTo(n.data, off)
		err = a.s.Truncate(in, off, nil, a.time())
	case 1:
		end := min(off+length, int64(len(n.data)))
		if off >= end {
			return nil // there is nothing to zero
		}
		data = slices.Clone(n.data)
		clear(data[off:end])
		err = zero(a.s, in, off, length, true, nil, a.time())
	case 2: // append
		off = int64(len(n.data))
		fallthrough
	default:
		p := make([]byte, length+1)
		for i := range p {
			p[i] = byte(a.now + int64(i)/7)
		}
		data = resizedTo(n.data, max(int64(len(n.data)), off+int64(len(p))))
		copy(data[off:], p)
		err = a.s.WriteAt(in, p, off, nil, a.time())
	}
	if err == nil {
		n.data = data
		n.attr.Size, n.attr.Mtime, n.attr.Ctime = int64(len(data)), a.time(), a.time()
	}
	return err
}

// resizedTo is data at another length, with zeros behind it.
func resizedTo(data []byte, size int64) []byte {
	out := make([]byte, size)
	copy(out, data)
	return out
}

// unlink takes a name away, inside a step. hold keeps the inode open.
func (a *actor) unlink(tx *Tx, p place, dir, in *Inode, hold bool) error {
	n := p.dir.kids[p.name]
	delete(p.dir.kids, p.name)
	if n.attr.Nlink--; n.isDir() {
		n.attr.Nlink = 0
		if err := tx.ClearWhiteouts(in); err != nil {
			return err
		}
	}
	in.Attr.Nlink = n.attr.Nlink
	tx.Dirty(in)
	if hold && n.attr.Nlink == 0 && regular(n) {
		in.refs++
		a.open = append(a.open, in)
	}
	return tx.Unlink(dir, p.name)
}

func (a *actor) remove() error {
	p, n := a.any(removable)
	if n == nil {
		return a.create()
	}
	return a.with(func(tx *Tx, in ...*Inode) error { return a.unlink(tx, p, in[0], in[1], a.rnd.IntN(3) == 0) }, p.dir, n)
}

func (a *actor) rename() error {
	from, n := a.any(func(*node) bool { return true })
	if n == nil {
		return a.create()
	}
	to := place{a.anyDir(), fmt.Sprintf("n%d", a.rnd.IntN(30))}
	if old, o := a.any(removable); o != nil && o != n && o.isDir() == n.isDir() && a.rnd.IntN(2) == 0 {
		to = old
	}
	victim := to.dir.kids[to.name]
	if victim == n || victim != nil && (victim.isDir() != n.isDir() || !removable(victim)) || n.holds(to.dir) {
		return nil
	}
	nodes := []*node{from.dir, to.dir, n}
	if victim != nil {
		nodes = append(nodes, victim)
	}
	return a.with(func(tx *Tx, in ...*Inode) error {
		if victim != nil {
			if err := a.unlink(tx, to, in[1], in[3], false); err != nil {
				return err
			}
		}
		delete(from.dir.kids, from.name)
		to.dir.kids[to.name] = n
		if err := tx.Unlink(in[0], from.name); err != nil {
			return err
		}
		n.attr.Ctime = a.time()
		in[2].Attr.Ctime = n.attr.Ctime
		tx.Dirty(in[2])
		return tx.Link(in[1], to.name, in[2])
	}, nodes...)
}

// holds tells whether a directory is this one, or below it.
func (n *node) holds(dir *node) bool {
	if n == dir {
		return true
	}
	for _, kid := range n.kids {
		if kid.holds(dir) {
			return true
		}
	}
	return false
}

func (a *actor) link() error {
	_, n := a.any(linkable)
	dir, name := a.anyDir(), fmt.Sprintf("n%d", a.rnd.IntN(30))
	if n == nil || dir.kids[name] != nil {
		return nil
	}
	return a.with(func(tx *Tx, in ...*Inode) error {
		n.attr.Nlink++
		in[0].Attr.Nlink++
		tx.Dirty(in[0])
		dir.kids[name] = n
		return tx.Link(in[1], name, in[0])
	}, n, dir)
}

func (a *actor) xattr() error {
	_, n := a.any(func(*node) bool { return true })
	if n == nil {
		return nil
	}
	name, value := fmt.Sprintf("user.%d", a.rnd.IntN(3)), strings.Repeat("v", a.rnd.IntN(60))
	return a.with(func(tx *Tx, in ...*Inode) error {
		if a.rnd.IntN(3) == 0 {
			delete(n.xattrs, name)
			return tx.RemoveXattr(in[0], name)
		}
		n.xattrs[name] = value
		return tx.SetXattr(in[0], name, []byte(value))
	}, n)
}

func (a *actor) whiteout() error {
	dir, name := a.anyDir(), fmt.Sprintf("w%d", a.rnd.IntN(4))
	return a.with(func(tx *Tx, in ...*Inode) error {
		if dir.white[name] {
			delete(dir.white, name)
			return tx.ClearWhiteout(in[0], name)
		}
		dir.white[name] = true
		return tx.SetWhiteout(in[0], name)
	}, dir)
}

// hold has something open from now on, whatever becomes of its names.
func (a *actor) hold() error {
	_, n := a.any(linkable)
	if n == nil {
		return nil
	}
	return a.with(func(_ *Tx, in ...*Inode) error {
		in[0].refs++
		a.open = append(a.open, in[0])
		return nil
	}, n)
}

// unnamed works on a file that has no name any more, or closes it. The tree does not change.
func (a *actor) unnamed() error {
	if len(a.open) == 0 {
		return nil
	}
	in := a.open[0]
	if in.Attr.IsRegular() && in.Attr.Nlink == 0 && a.rnd.IntN(3) > 0 {
		return a.s.WriteAt(in, make([]byte, a.rnd.IntN(1000)+1), a.rnd.Int64N(2000), nil, a.time())
	}
	a.open = a.open[1:]
	put(a.s, in)
	return nil
}

func (a *actor) chmod() error {
	_, n := a.any(linkable)
	if n == nil {
		n = a.root
	}
	return a.with(func(tx *Tx, in ...*Inode) error {
		n.attr.Mode ^= 0o022
		n.attr.UID = uint32(a.rnd.IntN(3))
		in[0].Attr.Mode, in[0].Attr.UID = n.attr.Mode, n.attr.UID
		tx.Dirty(in[0])
		return nil
	}, n)
}
