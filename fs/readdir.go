package fs

import (
	"cmp"
	"errors"
	"hash/fnv"
	"slices"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// A directory is read in portions, and the kernel says neither for which open directory nor when its reader ends. The
// list that was made for the first portion is kept for the others, until enough directories were begun since.
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
	var list []dirent // nil: not made yet
	next, reads := 0, false
	return o.view(func(t *tx) error {
		n, err := t.get(ino)
		if err != nil {
			return err
		}
		if !n.attrOf().IsDir() {
			return syscall.ENOTDIR
		}
		kept := t.lists[n]
		begins := list == nil && (offset == 0 || kept == nil)
		reads = reads || begins
		var host *HostDir
		if reads || plus && (list != nil || after(kept, offset) < len(kept)) {
			dir, err := t.openDir(n, true, reads)
			if err != nil {
				return err
			}
			if begins {
				if err := t.makeList(n, dir); err != nil {
					return err
				}
			}
			if dir != nil {
				host = dir.dir
			}
		}
		if list == nil {
			list = t.lists[n]
			next = after(list, offset)
		}
		for ; next < len(list); next++ {
			more, err := t.emit(n, &list[next], plus, host, emit)
			if err != nil || !more {
				return err
			}
			t.known.forgetStats()
		}
		if kept := t.lists[n]; kept != nil && after(kept, offset) == len(kept) {
			t.dropList(n)
		}
		return nil
	})
}

// makeList makes a directory's list anew.
func (t *tx) makeList(n *node, dir *fact) error {
	list, err := t.list(n, dir)
	if err != nil {
		return err
	}
	place(list)
	t.keepList(n, append([]dirent{
		{name: ".", ino: n.ino, mode: syscall.S_IFDIR, offset: selfOffset},
		{name: "..", ino: n.parentIno, mode: syscall.S_IFDIR, offset: parentOffset},
	}, list...))
	t.accessed(n)
	t.expireList(n)
	return nil
}

// emit passes an entry of a directory on, looked up with plus, and tells whether more can follow.
func (t *tx) emit(n *node, ent *dirent, plus bool, host *HostDir, emit func(DirEntry) bool) (more bool, err error) {
	e := DirEntry{Name: ent.name, Ino: ent.ino, Mode: ent.mode, Offset: ent.offset}
	var child *node
	if plus && ent.offset >= firstOffset && !n.knows(ent) {
		if !ent.base {
			host = nil
		}
		c, ttl, err := t.find(n, ent.name, host)
		if err == nil { // the kernel keeps the size that it is told here
			err = t.follow(c)
		}
		if errors.Is(err, errAsk) {
			return false, err
		}
		// An entry that cannot be looked up any more is still listed, as readdir(3) allows.
		if err == nil && !c.stale() {
			child = c
			e.Entry = t.acquireEntry(c)
			e.Entry.TTL = ttl
			e.Ino, e.Mode = c.ino, e.Entry.Attr.Mode
		}
	}
	if !emit(e) {
		if child != nil {
			t.release(child, 1)
		}
		return false, nil
	}
	return true, nil
}

// knows tells whether the kernel has all that there is to say of an entry of the base, and is told if that changes: as
// when a program has looked at all files of a directory before it reads it, as git does. What the kernel has read, or
// stands in, it wants to know the access time of again.
func (n *node) knows(ent *dirent) bool {
	c := n.known(ent.name)
	return ent.base && c != nil && c.ino == ent.ino && c.base.content == (sqlvfs.Fingerprint{}) && !c.base.attr.IsDir()
}

// after is where in a list what follows an offset begins.
func after(list []dirent, offset uint64) int {
	i, _ := slices.BinarySearchFunc(list, offset, func(e dirent, offset uint64) int {
		return cmp.Or(cmp.Compare(e.offset, offset), -1) // the first one behind it
	})
	return i
}

// keepList keeps a directory's list, to be read on.
func (t *tx) keepList(n *node, list []dirent) {
	t.dropList(n)
	for len(t.listed) == maxLists || len(t.listed) > 0 && t.entries+len(list) > maxEntries {
		t.dropList(t.listed[0])
	}
	t.listed = append(t.listed, n)
	t.entries += len(list)
	t.lists[n] = list
}

// dropList frees a directory's list.
func (t *tx) dropList(n *node) {
	if list, ok := t.lists[n]; ok {
		i := slices.Index(t.listed, n)
		t.listed = slices.Delete(t.listed, i, i+1)
		t.entries -= len(list)
		delete(t.lists, n)
	}
}

// list merges a directory's entries in the delta and in the base; dir is nil if that supplies none.
func (t *tx) list(n *node, dir *fact) ([]dirent, error) {
	if n.gone() {
		return nil, nil
	}
	var base []Dirent
	switch {
	case n.base != nil && n.base.path == top:
		base = []Dirent{{Name: t.name, Ino: t.host.ino, Type: syscall.S_IFDIR}}
	case dir != nil && dir.readErr != nil:
		return nil, dir.readErr
	case dir != nil:
		base = dir.entries
	}
	var list []dirent
	hidden := map[string]bool{}
	if n.in != nil {
		children, err := t.db.Children(n.in)
		if err != nil {
			return nil, err
		}
		list = make([]dirent, 0, len(children)+len(base))
		for _, c := range children {
			if t.reserved(n, c.Name) {
				continue
			}
			ino := Ino(c.Number)
			if other, ok := t.elsewhere[Ino(c.Ino)]; ok {
				ino = other
			}
			list = append(list, dirent{name: c.Name, ino: ino, mode: c.Mode})
		}
		if len(base) > 0 {
			for _, c := range children {
				hidden[c.Name] = true
			}
			white, err := t.db.Whiteouts(n.in)
			if err != nil {
				return nil, err
			}
			for _, name := range white {
				hidden[name] = true
			}
		}
	}
	for _, e := range base {
		if hidden[e.Name] || t.reserved(n, e.Name) {
			continue
		}
		number := t.baseNumber(sqlvfs.Fingerprint{Dev: t.host.dev, Ino: e.Ino})
		if other, ok := t.elsewhere[number]; ok {
			number = other
		}
		list = append(list, dirent{name: e.Name, ino: number, mode: e.Type, base: true})
	}
	return list, nil
}
