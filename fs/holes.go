package fs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// blocks returns how many units of 512 bytes a node takes, or -1 for as many as its size does. Of a file that is partly
// the host's, what shows through counts in full.
func (t *tx) blocks(n *node, follows bool) int64 {
	a := n.attrOf()
	if !a.IsRegular() {
		return -1
	}
	if n.in != nil && !follows {
		if blocks, err := t.db.Blocks(n.in); err == nil {
			return blocks
		}
		return -1
	}
	const page = 4096
	if int64(a.Pages) >= a.Size/page {
		return -1
	}
	return int64(a.Pages) * (page / 512)
}

// Seek implements FileSystem.
func (o *Overlay) Seek(ino Ino, off int64, hole bool) (int64, error) {
	if off < 0 {
		return 0, syscall.ENXIO
	}
	for {
		s, err := query(o, viewing, func(t *tx) (stretch, error) { return t.stretch(ino, off) })
		if err != nil {
			return 0, err
		}
		found, ok := s.seek(off, hole)
		switch {
		case ok:
			return found, nil
		case s.end >= s.size && hole:
			return s.size, nil
		case s.end >= s.size:
			return 0, syscall.ENXIO
		}
		off = s.end
	}
}

// stretch is a part of a file from an offset on, all of one kind.
type stretch struct {
	kind      sqlvfs.Kind
	end, size int64
	file      *HostFile // with content that is the host's; nil: it cannot be opened
}

// stretch finds out what is at an offset of a file, for who is to close it.
func (t *tx) stretch(ino Ino, off int64) (s stretch, err error) {
	n, err := t.get(ino)
	if err != nil {
		return s, err
	}
	a := n.attrOf()
	switch s.size = a.Size; {
	case !a.IsRegular():
		return s, syscall.EINVAL
	case off >= s.size:
		return s, syscall.ENXIO
	case n.in == nil:
		s.kind, s.end = sqlvfs.Through, s.size
		s.file, err = t.openUntouched(n)
		return s, err
	}
	if s.kind, s.end, err = t.db.Stretch(n.in, off); err != nil || s.kind != sqlvfs.Through || n.base == nil {
		return s, err
	}
	s.file, err = t.openBase(n, n.in.Origin.Fingerprint)
	if errors.Is(err, errAsk) {
		return s, err
	}
	return s, nil // to read it will be an error
}

// seek looks for data or a hole, from an offset on.
func (s *stretch) seek(off int64, hole bool) (found int64, ok bool) {
	if s.kind != sqlvfs.Through || s.file == nil {
		return off, (s.kind == sqlvfs.Hole) == hole
	}
	defer s.file.Close()
	whence := unix.SEEK_DATA
	if hole {
		whence = unix.SEEK_HOLE
	}
	found, err := unix.Seek(s.file.fd, off, whence)
	if errors.Is(err, unix.ENXIO) {
		return 0, false
	}
	if err != nil {
		return off, !hole // there, holes are not known
	}
	return found, found < s.end
}
