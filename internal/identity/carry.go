package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// carrier finds out what of one directory is the same in another.
type carrier struct {
	ctx       context.Context
	dir       *os.File // the new one
	was, here *sqlvfs.Workspace
	database  string
	buf       []byte
}

// carry fills in what changes when the workspace is the new directory.
func (c *carrier) carry(tx *sqlvfs.Tx, m *sqlvfs.Moved) error {
	own, err := tx.Baselines(c.here.Tree)
	if err != nil {
		return err
	}
	m.Baselines = own
	if c.empty() {
		return nil // all of it is still to come: nothing was deleted
	}
	old, err := tx.Baselines(c.was.Tree)
	if err != nil {
		return err
	}
	tree, err := tx.Snapshot()
	if err != nil {
		return err
	}
	if m.Baselines == nil {
		m.Baselines = map[string]*sqlvfs.Baseline{}
	}
	for path, b := range old {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		// A directory that was the workspace before has baselines of its own. They count where it does
		// not have what both agreed about last.
		if fp, ok := c.same(path, b.Mode, b.Fingerprint, b.Hash, true); ok {
			now := *b
			now.Fingerprint = fp
			m.Baselines[path] = &now
		} else if own[path] == nil {
			m.Baselines[path] = b
		}
	}
	m.Origins = map[sqlvfs.Ino]*sqlvfs.Origin{}
	tree.All(func(n *sqlvfs.Node) {
		if o := n.Origin; o != nil && o.Base == c.here.Name {
			if now := c.origin(n, o); now != nil {
				m.Origins[n.Ino] = now
			}
		}
	})
	return c.ctx.Err()
}

// origin returns the origin that an inode has in the new directory, or nil.
func (c *carrier) origin(n *sqlvfs.Node, o *sqlvfs.Origin) *sqlvfs.Origin {
	fp, ok := c.same(o.Path, n.Attr.Mode, o.Fingerprint, []byte(o.Hash), false)
	if !ok || c.ctx.Err() != nil {
		return nil
	}
	now := *o
	now.Fingerprint = fp
	if o.Number == o.Fingerprint.Number(c.was.Dev) {
		now.Number = fp.Number(c.here.Dev) // other names of the object lead to the inode by it
	}
	return &now
}

// same tells whether the new directory has at a path what the old one had, and returns the
// fingerprint that it has there. exactMode says that permissions count, unless they are unknown.
func (c *carrier) same(path string, mode uint32, was sqlvfs.Fingerprint, hash []byte, exactMode bool) (now sqlvfs.Fingerprint, ok bool) {
	f, err := hostfs.Open(c.dir, path, unix.O_PATH)
	if err != nil {
		return now, false
	}
	defer f.Close()
	st, err := hostfs.Stat(f)
	if err != nil || (st.Mode^mode)&unix.S_IFMT != 0 {
		return now, false
	}
	if exactMode && mode&0o7777 != 0 && st.Mode != mode {
		return now, false
	}
	now = hostfs.Fingerprint(&st)
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return now, true
	case now.Size != was.Size:
		return now, false
	case now.Mtime == was.Mtime:
		return now, true
	}
	return now, len(hash) > 0 && bytes.Equal(hash, c.hash(path, &st))
}

// hash is that of an object in the new directory, in a baseline's way; nil if it cannot be read.
func (c *carrier) hash(path string, st *unix.Stat_t) []byte {
	h := sha256.New()
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		d, err := hostfs.Open(c.dir, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return nil
		}
		defer d.Close()
		target, err := hostfs.Readlink(d, filepath.Base(path))
		if err != nil {
			return nil
		}
		h.Write([]byte(target))
		return h.Sum(nil)
	}
	// O_NONBLOCK: should a fifo be there meanwhile, opening it must not wait.
	f, err := hostfs.Open(c.dir, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil
	}
	defer f.Close()
	if c.buf == nil {
		c.buf = make([]byte, 256<<10)
	}
	for c.ctx.Err() == nil {
		n, err := f.Read(c.buf)
		h.Write(c.buf[:n])
		if err == io.EOF {
			return h.Sum(nil)
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// empty tells whether the new directory has nothing in it.
func (c *carrier) empty() bool {
	ok, err := Empty(c.dir, c.database)
	return err == nil && ok
}

// Empty tells whether a directory has nothing in it but, perhaps, the files of a database, and what a pull that was killed has left.
func Empty(dir *os.File, database string) (bool, error) {
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	d := os.NewFile(uintptr(fd), dir.Name())
	defer d.Close()
	for {
		names, err := d.Readdirnames(64)
		for _, name := range names {
			if !belongs(name, filepath.Base(database)) && !hostfs.IsStaging(name) {
				return false, nil
			}
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
