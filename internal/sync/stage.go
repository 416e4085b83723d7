package sync

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// holeSize is the length of a run of zeros that becomes a hole in a file, in bytes.
const holeSize = 64 << 10

// stage writes everything that is going to be renamed into place. When it returns nil, the
// workspace is still as it was, all that could be read was read, and the data is on the disk. The
// error is one that ends the run.
func (p *puller) stage() error {
	p.report.Phase("pull")
	for _, a := range p.actions {
		if err := p.interrupted(); err != nil {
			return err
		}
		if a.do != write && a.do != symlink && a.do != hardLink {
			continue
		}
		if p.staging == nil {
			var err error
			if p.staging, err = newStaging(p.host.dir); err != nil {
				return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
			}
		}
		tmp := p.staging.next()
		if err := p.stageOne(a, tmp); err != nil {
			p.staging.discard(tmp)
			if fatal(err) {
				return cli.WithHint(fmt.Errorf("%s: %w", p.hostPath(a.path), err), "nothing was changed in the workspace")
			}
			p.fail(a, err)
			continue
		}
		a.tmp = tmp
		p.report.Add(1, 0)
	}
	if p.staging == nil {
		return nil
	}
	// One call for all files, instead of an fsync for each: a rename must never become durable
	// before the content does.
	if err := unix.Syncfs(int(p.staging.dir.Fd())); err != nil {
		return fmt.Errorf("workspace %s: sync: %w", p.host.dir.Name(), err)
	}
	return nil
}

// endStaging removes the staging directory, if there is one.
func (p *puller) endStaging() {
	if p.staging != nil {
		p.staging.remove()
		p.staging = nil
	}
}

func (p *puller) stageOne(a *action, tmp string) error {
	dir := int(p.staging.dir.Fd())
	switch a.do {
	case hardLink:
		return p.stageHardLink(a, tmp)
	case symlink:
		if err := p.stageSymlink(a, p.staging, tmp); err != nil {
			return err
		}
	default:
		if err := p.stageFile(a, tmp); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(dir, tmp, times(&a.attr), unix.AT_SYMLINK_NOFOLLOW)
}

func (p *puller) stageFile(a *action, tmp string) error {
	f, err := p.staging.create(tmp)
	if err != nil {
		return err
	}
	defer f.Close()
	read, done, err := p.reader(a)
	if err != nil {
		return err
	}
	defer done()
	hash := sha256.New()
	// At once, so that a size that no file can have is refused before anything is read.
	if err := f.Truncate(a.attr.Size); err != nil {
		return unwrap(err)
	}
	for off := int64(0); off < a.attr.Size; {
		if err := p.interrupted(); err != nil {
			return err
		}
		n, err := read(p.buffer()[:min(bufferSize, a.attr.Size-off)], off)
		if err != nil && err != io.EOF {
			return err
		}
		if n == 0 {
			return errChanging
		}
		if err := writeSparse(f, p.buf[:n], off); err != nil {
			return unwrap(err)
		}
		hash.Write(p.buf[:n])
		off += int64(n)
		p.report.Add(0, int64(n))
	}
	a.hash = hash.Sum(nil)
	if err := p.setXattrs(f, a); err != nil {
		return err
	}
	return p.setOwnerAndMode(f, a)
}

func (p *puller) setOwnerAndMode(f *os.File, a *action) error {
	if p.asRoot {
		if err := unix.Fchown(int(f.Fd()), int(a.attr.UID), int(a.attr.GID)); err != nil {
			return err
		}
	}
	return unix.Fchmod(int(f.Fd()), a.attr.Mode&modeBits)
}

func (p *puller) stageSymlink(a *action, s *staging, tmp string) error {
	dir := int(s.dir.Fd())
	if err := unix.Symlinkat(a.target, dir, tmp); err != nil || !p.asRoot {
		return err
	}
	return unix.Fchownat(dir, tmp, int(a.attr.UID), int(a.attr.GID), unix.AT_SYMLINK_NOFOLLOW)
}

// stageHardLink gives a file another name: one that is staged too, or one that is in place.
func (p *puller) stageHardLink(a *action, tmp string) error {
	first, dir := a.other, int(p.staging.dir.Fd())
	defer func() { a.hash = first.hash }()
	switch {
	case first.failed:
		return fmt.Errorf("%s could not be written", p.hostPath(first.path))
	case first.tmp != "":
		return unix.Linkat(dir, first.tmp, dir, tmp, 0)
	}
	from, name, err := p.host.openParent(first.path)
	if err != nil {
		return err
	}
	defer from.Close()
	// Flags 0: a symbolic link is not followed (linkat(2)).
	if err := unix.Linkat(int(from.Fd()), name, dir, tmp, 0); err != nil {
		return err
	}
	st, err := statAt(p.staging.dir, tmp)
	if err == nil && (st.Dev != first.now.Dev || st.Ino != first.now.Ino) {
		err = errChanging
	}
	return err
}

var zeros [holeSize]byte

// writeSparse writes data, leaving out whole stretches of zeros: what is not written is a hole.
func writeSparse(f *os.File, data []byte, off int64) error {
	for len(data) > 0 {
		n, hole := 0, false
		for n < len(data) {
			block := data[n:min(n+holeSize, len(data))]
			zero := bytes.Equal(block, zeros[:len(block)])
			if n > 0 && zero != hole {
				break
			}
			hole = zero
			n += len(block)
		}
		if !hole {
			if _, err := f.WriteAt(data[:n], off); err != nil {
				return err
			}
		}
		data, off = data[n:], off+int64(n)
	}
	return nil
}
