package sqlvfs

import (
	"cmp"
	"errors"
	"slices"
	"syscall"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What the host has at a path becomes rows of history, for a range of checkpoints, in transactions after each of which all checkpoints show
// what they have shown. A directory has its origin until all that is in it is there, and a file that has a part of the host's content until
// it has all.

// mostCopied bounds the files that are copied, in bytes. A pull writes a few changed places of a large file in place, and nobody waits for
// a copy of the rest.
const mostCopied = 32 << 20

// errLarge and errNoRoom are why a file is not copied.
var (
	errLarge  = hostError{syscall.EFBIG}
	errNoRoom = hostError{syscall.ENOSPC}
)

// fits returns an error if so much content of a file is not copied.
func (k *copier) fits(size int64) error {
	switch {
	case size > mostCopied:
		return errLarge
	case size > 0 && (k.full || size > k.w.more-int64(k.bytes)):
		return errNoRoom
	}
	return nil
}

// copy has an entry of a directory be a copy of what the host has at a path, at some checkpoints. changed is what becomes of that; whole
// says that all of it is to be copied.
func (k *copier) copy(dir Ino, name, path string, changed *changedPath, s span, whole bool) error {
	whole = whole || changed.goes()
	if !whole && changed.here && changed.effect == Makes {
		return k.put(database.KeptWhiteout, s, dir, name)
	}
	o, err := k.host.Describe(path)
	if err != nil {
		return k.lost(path, hostError{err})
	}
	if o.IsDir() {
		return k.copyDir(dir, name, path, changed, s, whole, o)
	}
	loses := changed != nil && changed.here && changed.effect == losesName
	if !whole && !loses {
		return nil // what was to be in it is not there
	}
	rest, err := k.link(dir, name, s, o)
	if !whole {
		return err // what no row stands for stays
	}
	for _, s := range rest {
		if err == nil {
			err = k.copyFile(dir, name, path, s, *o)
		}
	}
	return err
}

// copyFile is copy of what is no directory.
func (k *copier) copyFile(dir Ino, name, path string, s span, o HostObject) (err error) {
	ino := k.next()
	switch {
	case o.IsRegular():
		err := k.fits(o.Size)
		if err == nil {
			err = k.copyContent(ino, path, s, &o)
		}
		if err != nil {
			return k.lost(path, err)
		}
	case o.IsSymlink():
		err = k.put(database.KeptSymlink, s, ino, o.Target)
		o.Size = int64(len(o.Target))
	default:
		o.Size = 0
	}
	names := o.Nlink
	o.Nlink = 1 // so far
	if err == nil {
		err = k.putInode(ino, s, &o)
	}
	if o.IsRegular() && names > 1 {
		of := object{k.tree.Name, o.Fingerprint.Dev, o.Fingerprint.Ino}
		k.copied[of] = append(k.copied[of], &copied{ino, s, slices.Repeat([]uint32{1}, s.hi-s.lo+1), o})
	}
	if err == nil {
		err = k.put(database.KeptDentry, s, dir, name, ino)
	}
	if err == nil {
		err = k.step(path, o.Size, nil)
	}
	return k.pause(err)
}

// copyDir is copy of a directory. As long as not all of it is there, the host's shows through.
func (k *copier) copyDir(dir Ino, name, path string, changed *changedPath, s span, whole bool, o *HostObject) error {
	ino := k.next()
	o.Size = 0
	err := k.putInode(ino, s, o)
	if err == nil {
		err = k.putOrigin(ino, s, &oldOrigin{k.base, path, o.Fingerprint, 0, o.Mode, nil}, o.Number)
	}
	if err == nil {
		err = k.put(database.KeptDentry, s, dir, name, ino)
	}
	if err = k.pause(err); err != nil {
		return err
	}
	lost := k.losses
	names, err := k.namesOf(path, changed, whole)
	if err != nil {
		return err
	}
	for _, name := range names {
		var below *changedPath
		if changed != nil {
			below = changed.below[name]
		}
		if err := k.copy(ino, name, childPath(path, name), below, s, whole); err != nil {
			return err
		}
	}
	if whole && k.losses == lost {
		return k.cutOrigin(ino, s)
	}
	return nil
}

// copyContent copies a file's content. Of one that cannot be read, nothing stays.
func (k *copier) copyContent(ino Ino, path string, s span, o *HostObject) error {
	f, err := k.host.Content(path)
	if err != nil {
		return hostError{err}
	}
	defer f.Close()
	size := k.w.store.chunkSize
	for index := int64(0); index*size < o.Size && err == nil; index++ {
		err = k.putContent(ino, index, s, f, o.Size, o.Size)
	}
	if err == nil {
		err = unchangedFrom(f, &o.Fingerprint)
	}
	if errors.As(err, new(hostError)) {
		err = cmp.Or(do(k.w.conn, "DELETE FROM main.art_old_data WHERE ino=?", ino), err)
	}
	return err
}

// putContent copies one chunk of a file that is so long, as far as the host's content reaches. Zeros need no row.
func (k *copier) putContent(ino Ino, index int64, s span, f HostContent, limit, length int64) error {
	size := k.w.store.chunkSize
	start := index * size
	data := make([]byte, min(size, length-start))
	if _, err := f.ReadAt(data[:min(int64(len(data)), limit-start)], start); err != nil {
		return hostError{err}
	}
	if isZero(data) {
		return nil
	}
	k.bytes += len(data)
	return k.put(database.KeptData, s, ino, index, data)
}

// fill gives a file what it has of the host's content at some checkpoints.
func (k *copier) fill(ino Ino, path string, inodes []*Attr, origins []*oldOrigin) error {
	same := func(i, j int) bool {
		return origins[i] != nil && origins[j] != nil && origins[i].equal(origins[j]) && inodes[i].Size == inodes[j].Size && inodes[i].Mode == inodes[j].Mode
	}
	var f HostContent
	for lo := 0; lo < len(origins); lo++ {
		hi := lo
		if origins[lo] == nil || !inodes[lo].IsRegular() {
			continue
		}
		for hi+1 < len(origins) && same(lo, hi+1) {
			hi++
		}
		s, o := span{lo, hi}, origins[lo]
		lo = hi
		if o.limit == 0 {
			continue
		}
		if f == nil {
			var err error
			if f, err = k.host.Content(path); err != nil {
				return k.lost(path, hostError{err})
			}
			defer f.Close()
		}
		size, err := k.fillSpan(ino, s, f, o, inodes)
		if errors.As(err, new(hostError)) {
			err = k.lost(path, err)
		} else if err == nil {
			err = k.step(path, size, nil)
		}
		if err = k.pause(err); err != nil {
			return err
		}
	}
	return nil
}

// fillSpan is fill for checkpoints at which the file is as long, and has the same origin. It returns how long the file is.
func (k *copier) fillSpan(ino Ino, s span, f HostContent, o *oldOrigin, inodes []*Attr) (length int64, err error) {
	own, err := k.chunks(ino)
	if err != nil {
		return 0, err
	}
	now, err := f.Version()
	if err != nil {
		return 0, hostError{err}
	}
	// As an overlay shows it: what holds no content of its own has the host's, whatever that is; else it must be what it was, but for its
	// change time, which alone moves when the file gets another name or mode.
	filled, length := *o, inodes[s.hi].Size
	filled.limit, filled.Fingerprint = 0, now
	limit := min(o.limit, length)
	same := now.Dev == o.Dev && now.Ino == o.Ino && now.Size == o.Size && now.Mtime == o.Mtime
	switch {
	case same:
	case o.limit == o.Size && length == o.Size && own.none(s):
		limit, length, filled.hash = now.Size, now.Size, nil
	default:
		return 0, hostError{ErrBaseChanged}
	}
	if err := k.fits(limit); err != nil {
		return 0, err
	}
	size := k.w.store.chunkSize
	for index := int64(0); index*size < limit; index++ {
		for _, free := range own.missing(index, s) {
			if err := k.putContent(ino, index, free, f, limit, length); err != nil {
				return 0, err
			}
		}
	}
	if err := unchangedFrom(f, &now); err != nil {
		return 0, err
	}
	for i := s.lo; i <= s.hi && !same; i++ {
		a := *inodes[i]
		a.Size, a.Mtime = now.Size, now.Mtime
		if err := k.putAttr(ino, span{i, i}, &a); err != nil {
			return 0, err
		}
	}
	return length, k.putOriginRow(ino, s, &filled)
}

// lost notes that what the host has at a path could not be copied. An error of the database's stays one.
func (k *copier) lost(path string, err error) error {
	switch {
	case err == nil || !errors.As(err, new(hostError)):
		return err
	case Errno(err) == syscall.ENOENT || Errno(err) == syscall.ENOTDIR:
		return nil // nothing shows there
	}
	k.losses++
	tree, terr := k.w.tree(k.tree)
	if terr == nil {
		terr = k.w.noteReplaced(tree, path)
	}
	if terr == nil {
		terr = k.step(path, 0, err)
	}
	return terr
}
