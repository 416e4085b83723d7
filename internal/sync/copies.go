package sync

import (
	"errors"
	"fmt"
	"io"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// planRenamed plans what a directory of the database shows of a host directory that is elsewhere
// in the workspace, since the guest renamed it: all of it but what the rows override or hide.
func (p *puller) planRenamed(a *action, o *sqlvfs.Origin, hidden map[string]bool, there bool) error {
	if o.Base != p.name {
		p.lacking(a, fmt.Errorf("its entries are in another workspace: %s", o.Base))
		return nil
	}
	st, err := p.host.stat(o.Path)
	if err == nil && kind(st.Mode) != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		p.lacking(a, fmt.Errorf("its entries are in %s on the host: %w", p.hostPath(o.Path), err))
		return nil
	}
	return p.planCopies(a, o.Path, hidden, there)
}

// planCopies plans to copy the entries of a host directory but for the hidden ones.
func (p *puller) planCopies(a *action, source string, hidden map[string]bool, there bool) error {
	from, err := p.host.openDir(source)
	if err != nil {
		p.lacking(a, fmt.Errorf("its entries are in %s on the host: %w", p.hostPath(source), err))
		return nil
	}
	defer from.Close()
	self, err := fstat(from)
	if err != nil {
		p.lacking(a, err)
		return nil
	}
	names, err := entries(from)
	if err != nil {
		p.lacking(a, err)
		return nil
	}
	d, err := p.openThere(a, there)
	if err != nil {
		p.lacking(a, err)
		return nil
	}
	defer d.close()
	for _, name := range names {
		if err := p.interrupted(); err != nil {
			return err
		}
		st, err := statAt(from, name)
		if errors.Is(err, unix.ENOENT) || hidden[name] || p.host.db.has(objectOf(&self), name, &st) {
			continue
		}
		c := &action{path: join(a.path, name), in: a, attr: attrOf(&st)}
		if err != nil {
			p.fail(c, err)
			continue
		}
		have, ok := p.look(c, d, name)
		if !ok {
			continue
		}
		switch kind(st.Mode) {
		case unix.S_IFDIR:
			p.planMkdir(c, &have)
			if err := p.planCopies(c, join(source, name), nil, c.do != mkdir); err != nil {
				return err
			}
		case unix.S_IFLNK:
			if c.target, err = readlinkAt(from, name); err != nil {
				p.fail(c, err)
				continue
			}
			p.planSymlink(c, d, &have)
		case unix.S_IFREG:
			p.planCopy(c, join(source, name), &st, &have)
		default:
			p.report.note(p.hostPath(c.path), "skipped: it is a "+kindName(st.Mode))
		}
	}
	return nil
}

func (p *puller) planCopy(c *action, source string, st, have *unix.Stat_t) {
	c.do, c.source, c.version = write, source, fingerprintOf(st)
	if st.Nlink > 1 {
		if first := p.copies[objectOf(st)]; first != nil {
			p.planHardLink(c, first)
			return
		}
		p.copies[objectOf(st)] = c
	}
	if p.same(c, have) {
		c.do, c.source = keep, ""
		return
	}
	p.addUnlessBlocked(c)
}

// holdsNothing tells whether all of a file's content comes from its origin. It reads the file with
// a base that supplies nothing and counts what it is asked for.
func (p *puller) holdsNothing(row *sqlvfs.Inode) bool {
	var asked counter
	for off := int64(0); off < row.Attr.Size; off += bufferSize {
		n := min(bufferSize, row.Attr.Size-off)
		before := asked
		if _, err := p.store.ReadAt(row, p.buffer()[:n], off, &asked); err != nil && err != io.EOF {
			return false // the error will come again where it can be told
		}
		if int64(asked-before) != n {
			return false
		}
	}
	return true
}

// counter is an io.ReaderAt that only counts the bytes it is asked for.
type counter int64

func (c *counter) ReadAt(b []byte, _ int64) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func (p *puller) buffer() []byte {
	if p.buf == nil {
		p.buf = make([]byte, bufferSize)
	}
	return p.buf
}

func lastName(rel string) string { return path.Base(rel) }
