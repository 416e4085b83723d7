package sync

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// bufferSize is how much content is moved at a time, in bytes: whole chunks, for most databases.
const bufferSize = 1 << 20

// putDir makes an entry a directory with the host's attributes and returns its row, held. changed
// tells whether more than its times changed: those follow from its entries. A new directory has its
// origin at the host's path at, so that what appears there after the push still shows in a session.
func (p *pusher) putDir(dir *sqlvfs.Inode, name, at string, st *unix.Stat_t) (row *sqlvfs.Inode, changed bool, err error) {
	row, err = p.existing(dir, name, unix.S_IFDIR)
	if err != nil {
		return nil, false, err
	}
	attr := attrOf(st)
	changed = row == nil || !sameOwnerAndMode(&row.Attr, &attr)
	if p.opt.DryRun || row != nil && !changed && row.Attr.Mtime == attr.Mtime {
		return row, changed, nil
	}
	fresh := row == nil
	if fresh {
		if row, err = p.rows.create(attr); err != nil {
			return nil, false, err
		}
	}
	err = p.rows.update(dir, name, row, func() {
		setAttr(row, attr)
		if fresh {
			p.rows.store.SetOrigin(row, &sqlvfs.Origin{Base: p.name, Path: at, Number: uint64(row.Ino), Fingerprint: fingerprintOf(st)})
		}
	})
	if err != nil {
		p.rows.put(row)
		return nil, false, err
	}
	return row, changed, nil
}

// symlink stores a symbolic link. What it points to is not looked at.
func (p *pusher) symlink(d *os.File, at, name string, st *unix.Stat_t, dir *sqlvfs.Inode) error {
	target, err := readlinkAt(d, name)
	if err != nil {
		return err
	}
	row, err := p.existing(dir, name, unix.S_IFLNK)
	if err != nil {
		return p.storeFailed(err)
	}
	defer func() { p.rows.put(row) }()
	attr := attrOf(st)
	attr.Size = int64(len(target))
	if row != nil && row.Target == target && row.Attr.Mtime == attr.Mtime && sameOwnerAndMode(&row.Attr, &attr) {
		return nil
	}
	if !p.opt.DryRun {
		if row == nil || row.Attr.Nlink > 1 {
			p.rows.put(row)
			if row, err = p.rows.create(attr); err != nil {
				return p.storeFailed(err)
			}
		}
		if err := p.rows.update(dir, name, row, func() { setAttr(row, attr); row.Target = target }); err != nil {
			return p.storeFailed(err)
		}
	}
	p.report.line("LINK %s -> %s (%s)", p.report.name(p.guestPath(at)), p.report.name(target), inoText(row))
	return nil
}

// file stores a regular file. Names of one host file become names of one row.
func (p *pusher) file(d *os.File, at, name string, st *unix.Stat_t, dir *sqlvfs.Inode) error {
	if st.Nlink > 1 {
		if first, ok := p.links[objectOf(st)]; ok {
			return p.hardLink(at, name, st, first, dir)
		}
	}
	row, named, err := p.reusable(dir, name, st)
	if err != nil {
		return p.storeFailed(err)
	}
	defer func() { p.rows.put(row) }()
	attr := attrOf(st)
	sameContent := row != nil && holdsAll(row) && row.Attr.Size == attr.Size && row.Attr.Mtime == attr.Mtime
	if named && sameContent && sameOwnerAndMode(&row.Attr, &attr) {
		p.remember(st, row)
		return nil
	}
	if !p.opt.DryRun {
		if row, attr, err = p.fill(d, name, st, row, sameContent); err != nil {
			return err
		}
		if err := p.rows.update(dir, name, row, func() { setAttr(row, attr) }); err != nil {
			return p.storeFailed(err)
		}
	}
	p.remember(st, row)
	p.report.line("FILE %s (%d bytes, %s)", p.report.name(p.guestPath(at)), attr.Size, inoText(row))
	return nil
}

// fill brings the content of a host file into a row, a new one if row is nil, and returns the row
// and the attributes that go with the content.
func (p *pusher) fill(d *os.File, name string, st *unix.Stat_t, row *sqlvfs.Inode, sameContent bool) (*sqlvfs.Inode, sqlvfs.Attr, error) {
	attr := attrOf(st)
	if sameContent {
		return row, attr, nil
	}
	// O_NONBLOCK: should the name have become a fifo meanwhile, opening it must not wait.
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return row, attr, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	before, err := fstat(f)
	if err != nil {
		return row, attr, err
	}
	if objectOf(&before) != objectOf(st) || kind(before.Mode) != unix.S_IFREG {
		return row, attr, errChanging
	}
	attr = attrOf(&before)
	if row == nil {
		if row, err = p.rows.create(attr); err != nil {
			return nil, attr, p.storeFailed(err)
		}
	} else if err = p.rows.store.Truncate(row, 0, nil, sqlvfs.Now()); err != nil {
		return row, attr, p.storeFailed(err)
	}
	if err := p.copyIn(f, &before, row); err != nil {
		return row, attr, err
	}
	after, err := fstat(f)
	if err != nil {
		return row, attr, err
	}
	if fingerprintOf(&after) != fingerprintOf(&before) {
		return row, attr, errChanging
	}
	return row, attr, nil
}

var errChanging = errors.New("it changes while it is read")

// copyIn reads a file into a row. Holes of a sparse file stay holes; of a file that has none, each
// zero is stored, since not every reader of the format knows holes.
func (p *pusher) copyIn(f *os.File, st *unix.Stat_t, row *sqlvfs.Inode) error {
	// st_blocks counts units of 512 bytes whatever the file system's block is (stat(2)).
	if st.Size < bufferSize || st.Blocks*512 >= st.Size {
		return p.copyRange(f, row, 0, st.Size)
	}
	for off := int64(0); off < st.Size; {
		start, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
		if err == unix.ENXIO { // nothing but a hole up to the end (lseek(2))
			break
		}
		if err != nil {
			return fmt.Errorf("find data: %w", err)
		}
		end, err := unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return fmt.Errorf("find hole: %w", err)
		}
		end = min(end, st.Size)
		if err := p.copyRange(f, row, start, end); err != nil {
			return err
		}
		off = end
	}
	if row.Attr.Size < st.Size {
		if err := p.rows.store.Truncate(row, st.Size, nil, sqlvfs.Now()); err != nil {
			return p.storeFailed(err)
		}
	}
	return nil
}

func (p *pusher) copyRange(f *os.File, row *sqlvfs.Inode, off, end int64) error {
	if p.buf == nil {
		p.buf = make([]byte, bufferSize)
	}
	for off < end {
		if p.ctx.Err() != nil {
			return &storeError{errInterrupted}
		}
		// A buffer ends where a chunk does, so that no chunk is written twice.
		n := min(bufferSize-off%bufferSize, end-off)
		got, err := f.ReadAt(p.buf[:n], off)
		if got > 0 {
			if err := p.rows.store.WriteAt(row, p.buf[:got], off, nil, sqlvfs.Now()); err != nil {
				return p.storeFailed(err)
			}
			p.report.Add(0, int64(got))
		}
		if err == io.EOF && int64(got) < n {
			return errChanging
		}
		if err != nil && err != io.EOF {
			return unwrap(err)
		}
		off += int64(got)
	}
	return nil
}

// hardLink makes an entry another name of a file that is stored already.
func (p *pusher) hardLink(at, name string, st *unix.Stat_t, first *stored, dir *sqlvfs.Inode) error {
	row, err := p.rows.child(dir, name)
	if err != nil {
		return p.storeFailed(err)
	}
	defer func() { p.rows.put(row) }()
	if row != nil && row.Ino == first.ino {
		return nil
	}
	if !p.opt.DryRun {
		p.rows.put(row)
		if row, err = p.rows.get(first.ino); err != nil {
			return p.storeFailed(err)
		}
		if err := p.rows.update(dir, name, row, func() {}); err != nil {
			return p.storeFailed(err)
		}
	}
	p.report.line("FILE %s (%d bytes, %s)", p.report.name(p.guestPath(at)), st.Size, inoText(row))
	return nil
}

// existing returns the row of an entry if it is of the given kind, held, or nil.
func (p *pusher) existing(dir *sqlvfs.Inode, name string, want uint32) (*sqlvfs.Inode, error) {
	row, err := p.rows.child(dir, name)
	if row != nil && kind(row.Attr.Mode) != want {
		p.rows.put(row)
		row = nil
	}
	return row, err
}

// reusable returns the row that a host file may be written over: the one of that name, unless it
// has other names that may stand for other files on the host; or one that a session has made for
// the same file under another name. named tells which.
func (p *pusher) reusable(dir *sqlvfs.Inode, name string, st *unix.Stat_t) (row *sqlvfs.Inode, named bool, err error) {
	row, err = p.existing(dir, name, unix.S_IFREG)
	if err != nil || row != nil && row.Attr.Nlink == 1 {
		return row, true, err
	}
	if row != nil {
		if owner, taken := p.owner[row.Ino]; st.Nlink > 1 && (!taken || owner == objectOf(st)) {
			return row, true, nil
		}
		p.rows.put(row)
	}
	if ino, ok := p.copied[objectOf(st)]; ok && st.Nlink > 1 {
		row, err = p.rows.get(ino)
		return row, false, err
	}
	return nil, false, nil
}

// remember notes a file with several names, so that the others become names of the same row.
func (p *pusher) remember(st *unix.Stat_t, row *sqlvfs.Inode) {
	if st.Nlink < 2 {
		return
	}
	s := &stored{}
	if row != nil {
		s.ino = row.Ino
		p.owner[row.Ino] = objectOf(st)
	}
	p.links[objectOf(st)] = s
}

// holdsAll tells whether a row needs nothing of a host file.
func holdsAll(row *sqlvfs.Inode) bool { return row.Origin == nil || row.Origin.Limit == 0 }

func sameOwnerAndMode(a, b *sqlvfs.Attr) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID
}

// setAttr takes over a host object's attributes; the number of names is the tree's own. The
// Store's lock must be held.
func setAttr(row *sqlvfs.Inode, attr sqlvfs.Attr) {
	attr.Nlink = row.Attr.Nlink
	row.Attr = attr
}
