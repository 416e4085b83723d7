package sync

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// bufferSize is how much content is moved at a time, in bytes: whole chunks, for most databases.
const bufferSize = 1 << 20

// putDir makes an entry a directory with the host's attributes, and d.row its row. changed tells
// whether more than its times changed: those follow from its entries. A new directory has its origin
// at the host's path, so that what appears there after the push still shows in a session.
func (p *pusher) putDir(d *folder, st *unix.Stat_t) (changed bool, err error) {
	if err := p.ensure(d.in); err != nil {
		return false, err
	}
	if err := p.resolve(d); err != nil {
		return false, err
	}
	attr := attrOf(st)
	changed = d.row == nil || !sameOwnerAndMode(&d.row.Attr, &attr)
	if !p.opt.DryRun {
		if err := p.makeDir(d, st); err != nil {
			return false, err
		}
		p.agree(d.rel, st, d.row, nil)
	}
	if changed && d.rel != "." {
		p.report.line("DIR  %s (%s)", p.report.name(p.guestPath(d.rel)), inoText(d.row))
	}
	return changed, nil
}

func (p *pusher) makeDir(d *folder, st *unix.Stat_t) error {
	attr := attrOf(st)
	fresh := d.row == nil
	if fresh {
		row, err := p.rows.create(attr)
		if err != nil {
			return err
		}
		d.row, d.fresh = row, true
	}
	d.in.changed = d.in.changed || fresh
	return p.rows.update(d.in.row, d.name, d.row, func() {
		setAttr(d.row, attr)
		if o := d.row.Origin; fresh || d.rel == "." && o != nil && o.Fingerprint.Ino != st.Ino {
			p.rows.store.SetOrigin(d.row, &sqlvfs.Origin{
				Base: p.name, Path: d.rel, Number: uint64(d.row.Ino), Fingerprint: fingerprintOf(st), Mode: st.Mode,
			})
		}
	})
}

// symlink stores a symbolic link. What it points to is not looked at.
func (p *pusher) symlink(d *os.File, at, name string, st *unix.Stat_t, in *folder) error {
	dir := in.row
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
	same, err := p.rows.leads(row, target)
	if err != nil {
		return p.storeFailed(err)
	}
	if same && row.Attr.Mtime == attr.Mtime && sameOwnerAndMode(&row.Attr, &attr) {
		p.agree(at, st, row, hashOf(target))
		return nil
	}
	if !p.opt.DryRun {
		if row == nil || row.Attr.Nlink > 1 {
			p.rows.put(row)
			if row, err = p.rows.create(attr); err != nil {
				return p.storeFailed(err)
			}
		}
		if err := p.rows.update(dir, name, row, func() { setAttr(row, attr); p.rows.store.SetTarget(row, target) }); err != nil {
			return p.storeFailed(err)
		}
		in.changed = true
		p.agree(at, st, row, hashOf(target))
	}
	p.report.line("LINK %s -> %s (%s)", p.report.name(p.guestPath(at)), p.report.name(target), inoText(row))
	return nil
}

// file stores a regular file, whose content may have been read ahead. Names of one host file become
// names of one row.
func (p *pusher) file(d *os.File, at, name string, st *unix.Stat_t, in *folder, content *read) error {
	dir := in.row
	if st.Nlink > 1 {
		if first, ok := p.links[objectOf(st)]; ok {
			return p.hardLink(at, name, st, first, in)
		}
	}
	row, err := p.reusable(dir, name, st)
	if err != nil {
		return p.storeFailed(err)
	}
	defer func() { p.rows.put(row) }()
	attr := attrOf(st)
	var hash []byte
	if !p.opt.DryRun {
		if content != nil {
			row, err = p.storeRead(content, row)
		} else {
			content = &read{dir: d, name: name, st: *st}
			row, err = p.storePieces(content, row)
		}
		if err != nil {
			return err
		}
		*st, attr, hash = content.st, attrOf(&content.st), content.hash
		if err := p.rows.setXattrs(row, content.xattrs); err != nil {
			return p.storeFailed(err)
		}
		if err := p.rows.update(dir, name, row, func() { setAttr(row, attr) }); err != nil {
			return p.storeFailed(err)
		}
		in.changed = true
		p.agree(at, st, row, hash)
	}
	p.remember(st, row, hash)
	p.report.line("FILE %s (%d bytes, %s)", p.report.name(p.guestPath(at)), attr.Size, inoText(row))
	return nil
}

// openNow opens a file that was looked at a moment ago.
func openNow(d *os.File, name string, st *unix.Stat_t) (*os.File, error) {
	// O_NONBLOCK: should the name have become a fifo meanwhile, opening it must not wait.
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	now, err := fstat(f)
	if err == nil && (objectOf(&now) != objectOf(st) || kind(now.Mode) != unix.S_IFREG) {
		err = errChanging
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	*st = now
	return f, nil
}

// storeRead brings the content of a host file that was read ahead into a row, a new one if row is nil,
// which it returns.
func (p *pusher) storeRead(f *read, row *sqlvfs.Inode) (*sqlvfs.Inode, error) {
	if f.err != nil {
		return row, f.err
	}
	row, err := p.emptied(row, attrOf(&f.st))
	if err != nil || len(f.data) == 0 {
		return row, err
	}
	if err := p.rows.store.WriteAt(row, f.data, 0, nil, sqlvfs.Now()); err != nil {
		return row, p.storeFailed(err)
	}
	p.report.Add(0, int64(len(f.data)))
	f.drop()
	return row, nil
}

// storePieces is storeRead for a file that was not, which is read now; what there is to know of it is
// noted in f.
func (p *pusher) storePieces(f *read, row *sqlvfs.Inode) (*sqlvfs.Inode, error) {
	file, err := openNow(f.dir, f.name, &f.st)
	if err != nil {
		return row, err
	}
	defer file.Close()
	if row, err = p.emptied(row, attrOf(&f.st)); err != nil {
		return row, err
	}
	hash := sha256.New()
	if err := p.copyIn(file, &f.st, row, hash); err != nil {
		return row, err
	}
	f.hash = hash.Sum(nil)
	return row, f.finish(file)
}

// emptied returns a row without content, a new one if row is nil.
func (p *pusher) emptied(row *sqlvfs.Inode, attr sqlvfs.Attr) (*sqlvfs.Inode, error) {
	var err error
	if row == nil {
		row, err = p.rows.create(attr)
	} else {
		err = p.rows.store.Truncate(row, 0, nil, sqlvfs.Now())
	}
	if err != nil {
		err = p.storeFailed(err)
	}
	return row, err
}

var errChanging = errors.New("it changes while it is read")

// copyIn reads a file into a row. Holes of a sparse file stay holes; of a file that has none, each
// zero is stored, since not every reader of the format knows holes.
func (p *pusher) copyIn(f *os.File, st *unix.Stat_t, row *sqlvfs.Inode, hash io.Writer) error {
	// st_blocks counts units of 512 bytes whatever the file system's block is (stat(2)).
	if st.Size < bufferSize || st.Blocks*512 >= st.Size {
		return p.copyRange(f, row, hash, 0, st.Size)
	}
	hashed := int64(0)
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
		io.CopyN(hash, zeroReader{}, start-off)
		if err := p.copyRange(f, row, hash, start, end); err != nil {
			return err
		}
		off = end
		hashed = end
	}
	io.CopyN(hash, zeroReader{}, st.Size-hashed)
	if row.Attr.Size < st.Size {
		if err := p.rows.store.Truncate(row, st.Size, nil, sqlvfs.Now()); err != nil {
			return p.storeFailed(err)
		}
	}
	return nil
}

func (p *pusher) copyRange(f *os.File, row *sqlvfs.Inode, hash io.Writer, off, end int64) error {
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
			hash.Write(p.buf[:got])
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
func (p *pusher) hardLink(at, name string, st *unix.Stat_t, first *stored, in *folder) error {
	dir := in.row
	row, err := p.rows.child(dir, name)
	if err != nil {
		return p.storeFailed(err)
	}
	defer func() { p.rows.put(row) }()
	if row != nil && row.Ino == first.ino {
		p.agree(at, st, row, first.hash)
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
		in.changed = true
		p.agree(at, st, row, first.hash)
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
// the same file under another name.
func (p *pusher) reusable(dir *sqlvfs.Inode, name string, st *unix.Stat_t) (row *sqlvfs.Inode, err error) {
	row, err = p.existing(dir, name, unix.S_IFREG)
	if err != nil || row != nil && row.Attr.Nlink == 1 {
		return row, err
	}
	if row != nil {
		if owner, taken := p.owner[row.Ino]; st.Nlink > 1 && (!taken || owner == objectOf(st)) {
			return row, nil
		}
		p.rows.put(row)
	}
	if ino, ok := p.copied[objectOf(st)]; ok && st.Nlink > 1 {
		row, err = p.rows.get(ino)
		return row, err
	}
	return nil, nil
}

// remember notes a file with several names, so that the others become names of the same row.
func (p *pusher) remember(st *unix.Stat_t, row *sqlvfs.Inode, hash []byte) {
	if st.Nlink < 2 {
		return
	}
	s := &stored{hash: hash}
	if row != nil {
		s.ino = row.Ino
		p.owner[row.Ino] = objectOf(st)
	}
	p.links[objectOf(st)] = s
}

// zeroReader is what a hole reads as.
type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func sameOwnerAndMode(a, b *sqlvfs.Attr) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID
}

// setAttr takes over a host object's attributes; the number of names is the tree's own. The
// Store's lock must be held.
func setAttr(row *sqlvfs.Inode, attr sqlvfs.Attr) {
	attr.Nlink = row.Attr.Nlink
	row.Attr = attr
}
