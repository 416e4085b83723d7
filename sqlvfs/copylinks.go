package sqlvfs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A file of the host with several names is one inode at a checkpoint, too: the row that stood for it then, or else one copy.

// copied is a copy of a file of the host with several names, of which some are copied so far.
type copied struct {
	ino   Ino
	at    span
	names []uint32 // at each of these checkpoints
	HostObject
}

// link has an entry lead to the inode that stands for a file of the host with several names, where there is one, and returns at which
// checkpoints there is none.
func (k *copier) link(dir Ino, name string, s span, o *HostObject) ([]span, error) {
	if !o.IsRegular() || o.Nlink < 2 {
		return []span{s}, nil
	}
	if k.objects == nil {
		if err := k.findObjects(); err != nil {
			return nil, err
		}
	}
	of := object{k.tree.Name, o.Fingerprint.Dev, o.Fingerprint.Ino}
	rest := make([]bool, s.hi+1)
	for i := s.lo; i <= s.hi; i++ {
		rest[i] = true
	}
	for _, ino := range k.objects[of] {
		stands, err := k.stands(ino, &o.Fingerprint)
		if err == nil {
			_, err = k.lead(dir, name, rest, stands, ino)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, c := range k.copied[of] {
		if c.Fingerprint != o.Fingerprint {
			continue
		}
		there := make([]bool, c.at.hi+1)
		for i := c.at.lo; i <= c.at.hi; i++ {
			there[i] = true
		}
		leads, err := k.lead(dir, name, rest, there, c.ino)
		if err == nil {
			err = k.count(c, leads)
		}
		if err != nil {
			return nil, err
		}
	}
	return spans(rest), nil
}

// stands tells at which checkpoints an inode is what the tree had of a version of the host's file.
func (k *copier) stands(ino Ino, f *Fingerprint) ([]bool, error) {
	inodes, err := k.inodes(ino)
	if err != nil {
		return nil, err
	}
	origins, err := k.origins(ino)
	if err != nil {
		return nil, err
	}
	stands := make([]bool, len(origins))
	for i, o := range origins {
		stands[i] = inodes[i] != nil && o != nil && o.base == k.base && o.Dev == f.Dev && o.Ino == f.Ino && o.Mtime == f.Mtime && o.Size == f.Size
	}
	return stands, nil
}

// lead has an entry lead to an inode where that is there, at those checkpoints that are left, and returns which these are. They are not
// left any more.
func (k *copier) lead(dir Ino, name string, rest, there []bool, ino Ino) ([]span, error) {
	leads := make([]bool, min(len(rest), len(there)))
	for i := range leads {
		leads[i] = rest[i] && there[i]
		rest[i] = rest[i] && !there[i]
	}
	list := spans(leads)
	for _, s := range list {
		if err := k.put(database.KeptDentry, s, dir, name, ino); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// count counts one more name of a copy, at some checkpoints.
func (k *copier) count(c *copied, at []span) error {
	for _, s := range at {
		for i := s.lo; i <= s.hi; i++ {
			c.names[i-c.at.lo]++
		}
	}
	if len(at) == 0 {
		return nil
	}
	for lo := c.at.lo; lo <= c.at.hi; lo++ { // from the first: what is there at a checkpoint is there at those before it
		hi := lo
		for hi < c.at.hi && c.names[hi+1-c.at.lo] == c.names[lo-c.at.lo] {
			hi++
		}
		c.Nlink = c.names[lo-c.at.lo]
		if err := k.putInode(c.ino, span{lo, hi}, &c.HostObject); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// withNames adds to what changes the other names of files that lose one, where rows stand for these: a session finds a row by the name that
// the host shows as long as the file has several.
func (k *copier) withNames(list []HostChange) ([]HostChange, error) {
	changed, linked := map[string]bool{}, map[uint64]bool{}
	for _, c := range list {
		changed[c.Path] = true
		linked[c.Linked] = true
	}
	if delete(linked, 0); len(linked) == 0 {
		return list, nil
	}
	if err := k.findObjects(); err != nil {
		return nil, err
	}
	loses := map[uint64]bool{}
	for of := range k.objects {
		loses[of.ino] = linked[of.ino]
	}
	var find func(dir string) error
	find = func(dir string) error {
		names, err := k.host.Names(dir)
		if err != nil {
			return k.lost(dir, hostError{err})
		}
		for _, name := range names {
			at := childPath(dir, name)
			mode, ino, err := k.host.Inode(at)
			switch {
			case err != nil: // it is gone, or does not show
			case mode&syscall.S_IFMT == syscall.S_IFDIR:
				if err := find(at); err != nil {
					return err
				}
			case loses[ino] && !changed[at]:
				list = append(list, HostChange{Path: at, Effect: losesName})
			}
		}
		return nil
	}
	for _, loses := range loses {
		if loses {
			err := find(".")
			return list, err
		}
	}
	return list, nil
}

// findObjects notes which inodes have which objects of the host as their origins, now or at a checkpoint.
func (k *copier) findObjects() error {
	k.objects = map[object][]Ino{}
	q := bind(k.w.Prep(`SELECT ino, dev, base_ino FROM art_origin WHERE base=?1 UNION SELECT ino, dev, base_ino FROM main.art_old_origin WHERE there=1 AND base=?1`), k.base)
	for k.w.Step(q) {
		o := object{k.tree.Name, uint64(q.ColumnInt64(1)), uint64(q.ColumnInt64(2))}
		k.objects[o] = append(k.objects[o], Ino(q.ColumnInt64(0)))
	}
	return k.w.Done(q)
}
