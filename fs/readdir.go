package fs

import (
	"cmp"
	"hash/fnv"
	"slices"
	"syscall"
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// openDir is an open directory of an overlay. It lists what was there when reading began.
//
// An entry's offset follows from its name alone. The kernel may have the beginning of a directory
// from its cache, which another open directory has filled, and ask for the rest here: only then has
// it every entry that stays once, whatever came, went or was copied up meanwhile.
type openDir struct {
	o    *Overlay
	n    *node // held
	host *HostDir
	ents []dirent // nil until read

	cache, keep bool // what to do with the kernel's cache
}

var _ Dir = (*openDir)(nil)

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

// OpenDir implements FileSystem.
func (o *Overlay) OpenDir(ino Ino) (Dir, error) {
	o.store.Lock()
	defer o.store.Unlock()
	n, err := o.get(ino)
	if err != nil {
		return nil, err
	}
	if !n.attrOf().IsDir() {
		return nil, syscall.ENOTDIR
	}
	n.holds++
	d := &openDir{o: o, n: n}
	d.cache, d.keep = o.listCache(n)
	// What the kernel has in its cache it will not ask for.
	if path := n.path; n.based && !n.gone && path != top && !d.keep {
		opened := o.clock()
		o.store.Unlock()
		d.host, err = o.host.OpenDir(path)
		o.store.Lock()
		// A base directory that has vanished under a row of the delta supplies nothing more.
		if err != nil && (n.in == nil || err != syscall.ENOENT && err != syscall.ENOTDIR && err != syscall.ELOOP) {
			n.listed = 0
			n.holds--
			o.drop(n)
			return nil, err
		}
		if err == nil && n.watch == nil {
			o.watchDir(n, d.host, opened)
			d.cache, d.keep = o.listCache(n)
		}
	}
	if d.cache {
		n.listing++
	}
	return d, nil
}

// Cache implements Dir.
func (d *openDir) Cache() (use, keep bool) { return d.cache, d.keep }

// Release implements Dir.
func (d *openDir) Release() {
	if d.host != nil {
		d.host.Close()
	}
	d.o.store.Lock()
	defer d.o.store.Unlock()
	if d.cache {
		d.n.listing--
	}
	d.n.holds--
	d.o.drop(d.n)
}

// Read implements Dir.
func (d *openDir) Read(offset uint64, plus bool, emit func(DirEntry) bool) error {
	o := d.o
	o.store.Lock()
	defer o.store.Unlock()
	if offset == 0 || d.ents == nil {
		list, err := o.list(d.n, d.host)
		if err != nil {
			return err
		}
		place(list)
		d.ents = append([]dirent{
			{name: ".", ino: d.n.ino, mode: syscall.S_IFDIR, offset: selfOffset},
			{name: "..", ino: d.n.parentIno, mode: syscall.S_IFDIR, offset: parentOffset},
		}, list...)
		o.accessed(d.n)
	}
	next, _ := slices.BinarySearchFunc(d.ents, offset, func(e dirent, offset uint64) int {
		return cmp.Or(cmp.Compare(e.offset, offset), -1) // the first one behind it
	})
	for _, ent := range d.ents[next:] {
		e := DirEntry{Name: ent.name, Ino: ent.ino, Mode: ent.mode, Offset: ent.offset}
		var n *node
		if plus && ent.offset >= firstOffset {
			var lstat lstatFunc
			if ent.base && d.host != nil {
				lstat = func() (sqlvfs.Attr, sqlvfs.Fingerprint, error) { return d.host.Lstat(ent.name) }
			}
			var err error
			// An entry that cannot be looked up any more is still listed, as readdir(3) allows.
			var ttl time.Duration
			if n, ttl, err = o.find(d.n, ent.name, lstat); err == nil {
				e.Entry = o.hold(n)
				e.Entry.TTL = ttl
				e.Ino, e.Mode = n.ino, e.Entry.Attr.Mode
			} else {
				n = nil
			}
		}
		if !emit(e) {
			if n != nil {
				n.lookups--
				o.drop(n)
			}
			return nil
		}
	}
	return nil
}

// list merges a directory's entries in delta and base; host may be nil, then it is opened if need
// be. Lock held; it is let go of while the host is asked.
func (o *Overlay) list(n *node, host *HostDir) ([]dirent, error) {
	if n.gone {
		return nil, nil
	}
	var base []Dirent
	switch {
	case n.based && n.path == top:
		base = []Dirent{{Name: o.name, Ino: o.host.ino, Type: syscall.S_IFDIR}}
	case n.based:
		path := n.path
		n.holds++
		o.store.Unlock()
		var err error
		if host == nil {
			if host, err = o.host.OpenDir(path); err == nil {
				defer host.Close()
			}
		}
		if err == nil {
			base, err = host.ReadAll()
		}
		o.store.Lock()
		n.holds--
		if err != nil && (n.in == nil || err != syscall.ENOENT && err != syscall.ENOTDIR && err != syscall.ELOOP) {
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
