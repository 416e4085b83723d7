package filetree

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/hostfs"
)

// begin puts a file in its place. What is there of an earlier session is the guest's, and is not lost.
func (t *Tree) begin(f *file, from *os.File) error {
	if from == nil {
		return errors.New("there is none")
	}
	if dir := path.Dir(f.Path); dir != "." {
		if err := t.makePlace(files.Place{Path: dir, Directory: true}); err != nil {
			return err
		}
	}
	data, st, err := files.Content(from)
	if err != nil {
		return err
	}
	_, e, done, err := t.walk(f.Path)
	own := err == nil && e.Ino != 0 && !isPlace(&e) && !t.holds(&e, data) && !t.untouched(&e)
	done()
	if own && f.Overlay {
		return nil
	}
	if own {
		err = t.setAside(f.Path)
	}
	if err != nil {
		return err
	}
	return t.put(f, data, &st)
}

// isPlace says whether an entry is a mount point for a file, which a session has left behind.
func isPlace(e *fs.Entry) bool {
	return stateOf(e).regular() && e.Attr.Mode&0o7777 == 0o444 && e.Attr.Size == 0
}

// putAttribute is an extended attribute of each file that is put into a tree: the digest of what the host had. A server that
// is killed leaves the file, and the next one finds by it whether that is still the host's.
const putAttribute = "trusted.art.put"

// untouched says whether an entry is a file that a session has put there, with what the host had then.
func (t *Tree) untouched(e *fs.Entry) bool {
	if !stateOf(e).regular() {
		return false
	}
	put, err := t.Getxattr(e.Ino, putAttribute)
	if err != nil {
		return false
	}
	data, err := t.read(e.Ino)
	sum := sha256.Sum256(data)
	return err == nil && string(put) == string(sum[:])
}

// holds says whether an entry is a file with that content.
func (t *Tree) holds(e *fs.Entry, data []byte) bool {
	if !stateOf(e).regular() || e.Attr.Size != int64(len(data)) {
		return false
	}
	own, err := t.read(e.Ino)
	return err == nil && string(own) == string(data)
}

// setAside gives what has a file's name another one.
func (t *Tree) setAside(name string) error {
	for n := range 101 {
		to := name + ".art"
		switch {
		case n == 100: // a guest has taken the names
			to += "-" + rand.Text()
		case n > 0:
			to += fmt.Sprint(n)
		}
		if moved, err := t.moveTo(name, to); moved || err != nil {
			return err
		}
	}
	return syscall.EEXIST
}

// moveTo gives a name of a directory another name there, if that is free.
func (t *Tree) moveTo(name, to string) (moved bool, err error) {
	parent, e, done, err := t.walk(to)
	defer done()
	if err != nil || e.Ino != 0 {
		return false, err
	}
	if err := t.FileSystem.Rename(t.as, parent, path.Base(name), parent, path.Base(to), 0); err != nil {
		return false, err
	}
	t.logf("~/%s in the database is ~/%s now, since the host's file is there", name, to)
	return true, nil
}

// put puts the host's content into the tree, at once.
func (t *Tree) put(f *file, data []byte, st *unix.Stat_t) error {
	parent, _, done, err := t.walk(f.Path)
	defer done()
	if err != nil {
		return err
	}
	name, temporary := path.Base(f.Path), fmt.Sprintf(".art-%x", sha256.Sum256([]byte(f.Path)))
	_ = t.FileSystem.Unlink(t.as, parent, temporary) // of a session that was killed
	e, err := t.FileSystem.Mknod(t.as, parent, temporary, unix.S_IFREG|st.Mode&0o777, 0)
	if errors.Is(err, syscall.EEXIST) { // a guest has made a directory of that name
		temporary = ".art-" + rand.Text()
		e, err = t.FileSystem.Mknod(t.as, parent, temporary, unix.S_IFREG|st.Mode&0o777, 0)
	}
	if err != nil {
		return err
	}
	defer t.Forget(e.Ino, 1)
	if len(data) > 0 {
		err = t.FileSystem.Write(t.as, e.Ino, data, 0)
	}
	if err == nil {
		mtime := hostfs.Attr(st).Mtime
		_, err = t.FileSystem.Setattr(t.as, e.Ino, fs.SetAttr{Mtime: &mtime})
	}
	if err == nil {
		sum := sha256.Sum256(data)
		err = t.FileSystem.Setxattr(t.as, e.Ino, putAttribute, sum[:], 0)
	}
	if err == nil {
		err = t.FileSystem.Rename(t.as, parent, temporary, parent, name, 0)
	}
	if err != nil {
		_ = t.FileSystem.Unlink(t.as, parent, temporary) // the error is told
		return err
	}
	_ = t.cache.InvalidateEntry(parent, name) // where there is nothing cached, that is as well
	_ = t.cache.InvalidateInode(parent)
	if e, err = t.Getattr(e.Ino); err == nil {
		f.agreed = stateOf(&e)
	}
	return err
}
