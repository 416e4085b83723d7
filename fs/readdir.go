package fs

import (
	"cmp"
	"hash/fnv"
	"slices"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// A directory is read in portions, and the kernel says neither who reads nor when he ends. The list
// that was made for the first portion is kept for the others, as long as few directories were begun
// since.
//
// An entry's offset follows from its name alone. So a list may be made anew in the middle, and the
// kernel may have the beginning of a directory from its cache and ask for the rest here: every entry
// that stays comes once, whatever came, went or was copied up meanwhile.

// How many directories' lists are kept, and how many entries in them, but the one list that is read.
const (
	maxLists   = 16
	maxEntries = 256 << 10
)

type dirent struct {
	name   string
	ino    Ino
	mode   uint32
	base   bool   // from the base
	offset uint64 // by which the list is sorted; see place
}

// The offsets of the entries that every directory has. 0 is the beginning.
const (
	selfOffset = 1 + iota
	parentOffset
	firstOffset
)

// place sorts a list by its entries' offsets, which are made from their names: so a directory has the
// same order in every session. They fit into the kernel's signed loff_t. Who chooses names so that
// their offsets collide only makes the offsets of his own directory move.
func place(list []dirent) {
	hash := fnv.New64a()
	for i := range list {
		hash.Reset()
		hash.Write([]byte(list[i].name))
		list[i].offset = max(hash.Sum64()>>1, firstOffset)
	}
	slices.SortFunc(list, func(a, b dirent) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.name, b.name))
	})
	for i := 1; i < len(list); i++ {
		list[i].offset = max(list[i].offset, list[i-1].offset+1)
	}
}

// ReadDir implements FileSystem.
func (o *Overlay) ReadDir(ino Ino, offset uint64, plus bool, emit func(DirEntry) bool) error {
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return err
	}
	if !n.attrOf().IsDir() {
		return syscall.ENOTDIR
	}
	n.holds++
	defer func() { n.holds--; o.drop(n) }()
	begins := offset == 0 || n.list == nil
	next := 0
	if !begins {
		next = n.after(offset)
	}
	var host *HostDir
	if begins || plus && next < len(n.list) {
		asked := o.clock()
		if host, err = o.openDir(n); err != nil {
			return err
		}
		if host != nil {
			defer host.Close()
			o.watchDir(n, host, asked)
		}
	}
	if begins || n.list == nil { // somebody else may have come to the end meanwhile
		list, err := o.list(n, host)
		if err != nil {
			return err
		}
		place(list)
		o.keepList(n, append([]dirent{
			{name: ".", ino: n.ino, mode: syscall.S_IFDIR, offset: selfOffset},
			{name: "..", ino: n.parentIno, mode: syscall.S_IFDIR, offset: parentOffset},
		}, list...))
		o.accessed(n)
		o.expireList(n)
	}
	list := n.list
	next = n.after(offset)
	for _, ent := range list[next:] {
		e := DirEntry{Name: ent.name, Ino: ent.ino, Mode: ent.mode, Offset: ent.offset}
		var child *node
		if plus && ent.offset >= firstOffset {
			var lstat lstatFunc
			if ent.base && host != nil {
				lstat = func() (sqlvfs.Attr, sqlvfs.Fingerprint, error) { return host.Lstat(ent.name) }
			}
			// An entry that cannot be looked up any more is still listed, as readdir(3) allows.
			if c, ttl, err := o.find(n, ent.name, lstat); err == nil && !c.stale {
				child = c
				e.Entry = o.hold(c)
				e.Entry.TTL = ttl
				e.Ino, e.Mode = c.ino, e.Entry.Attr.Mode
			}
		}
		if !emit(e) {
			if child != nil {
				child.lookups--
				o.drop(child)
			}
			return nil
		}
	}
	if next == len(list) && n.list != nil {
		o.dropList(n)
	}
	return nil
}

// after is where in a directory's list what follows an offset begins. Lock held.
func (n *node) after(offset uint64) int {
	i, _ := slices.BinarySearchFunc(n.list, offset, func(e dirent, offset uint64) int {
		return cmp.Or(cmp.Compare(e.offset, offset), -1) // the first one behind it
	})
	return i
}

// openDir opens a node's directory in the base; nil without an error says that the base supplies
// nothing. Lock held; it is let go of while the host is asked.
func (o *Overlay) openDir(n *node) (*HostDir, error) {
	if !n.based || n.gone || n.path == top {
		return nil, nil
	}
	path := n.path
	o.store.Unlock()
	dir, err := o.host.OpenDir(path)
	o.store.Lock()
	if n.in != nil && (err == syscall.ENOENT || err == syscall.ENOTDIR || err == syscall.ELOOP) {
		return nil, nil // it has vanished under a row of the delta
	}
	return dir, err
}

// keepList keeps a directory's list for who reads on. Lock held.
func (o *Overlay) keepList(n *node, list []dirent) {
	o.dropList(n)
	for len(o.listed) == maxLists || len(o.listed) > 0 && o.entries+len(list) > maxEntries {
		o.dropList(o.listed[0])
	}
	o.listed = append(o.listed, n)
	o.entries += len(list)
	n.list = list
}

// dropList lets go of a directory's list. Lock held.
func (o *Overlay) dropList(n *node) {
	if n.list != nil {
		i := slices.Index(o.listed, n)
		o.listed = slices.Delete(o.listed, i, i+1)
		o.entries -= len(n.list)
		n.list = nil
	}
}

// list merges a directory's entries in the delta and in the base, which host, if not nil, is open to
// read. Lock held; it is let go of while the host is asked.
func (o *Overlay) list(n *node, host *HostDir) ([]dirent, error) {
	if n.gone {
		return nil, nil
	}
	var base []Dirent
	switch {
	case n.based && n.path == top:
		base = []Dirent{{Name: o.name, Ino: o.host.ino, Type: syscall.S_IFDIR}}
	case host != nil:
		o.store.Unlock()
		var err error
		base, err = host.ReadAll()
		o.store.Lock()
		if err != nil {
			return nil, err
		}
	}
	var list []dirent
	hidden := map[string]bool{}
	if n.in != nil {
		children, err := o.store.Children(n.in)
		if err != nil {
			return nil, err
		}
		list = make([]dirent, 0, len(children)+len(base))
		for _, c := range children {
			if o.reserved(n, c.Name) {
				continue
			}
			list = append(list, dirent{name: c.Name, ino: Ino(c.Number), mode: c.Mode})
		}
		if len(base) > 0 {
			for _, c := range children {
				hidden[c.Name] = true
			}
			white, err := o.store.Whiteouts(n.in)
			if err != nil {
				return nil, err
			}
			for _, name := range white {
				hidden[name] = true
			}
		}
	}
	for _, e := range base {
		if hidden[e.Name] {
			continue
		}
		number := o.baseNumber(sqlvfs.Fingerprint{Dev: o.host.dev, Ino: e.Ino})
		list = append(list, dirent{name: e.Name, ino: number, mode: e.Type, base: true})
	}
	return list, nil
}
