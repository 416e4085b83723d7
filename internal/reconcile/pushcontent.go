package reconcile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// storeContent brings the content of a host file into a row, a new one if row is nil, which it returns. Of one that was
// not read ahead, it notes what there is to know.
func (p *pusher) storeContent(f *hostFile, row *sqlvfs.Inode) (*sqlvfs.Inode, error) {
	if f.Data != nil {
		row, err := p.emptied(row, attrOf(&f.St))
		if err == nil && len(f.Data) > 0 {
			err = p.storeFailed(p.store.WriteAt(row, f.Data, 0, nil, p.begun))
			p.report.Add(0, int64(len(f.Data)))
			f.Drop()
		}
		return row, err
	}
	file, err := f.Open()
	if err != nil {
		return row, err
	}
	defer file.Close()
	if row, err = p.emptied(row, attrOf(&f.St)); err != nil {
		return row, err
	}
	hash := sha256.New()
	if err := p.copyIn(file, &f.St, row, hash); err != nil {
		return row, err
	}
	if f.St.Size-f.St.Blocks*512 <= maxHashedHoles {
		f.Hash = hash.Sum(nil)
	}
	return row, f.Finish(file)
}

// maxHashedHoles is how many bytes of holes a file may have to be known by a hash: a terabyte of zeros takes
// minutes to hash and no time to make.
const maxHashedHoles = 1 << 30

// emptied returns a row without content, a new one if row is nil.
func (p *pusher) emptied(row *sqlvfs.Inode, attr sqlvfs.Attr) (*sqlvfs.Inode, error) {
	if row != nil {
		return row, p.storeFailed(p.store.Truncate(row, 0, nil, p.begun))
	}
	row, err := p.rows().create(attr)
	return row, p.storeFailed(err)
}

// copyIn reads a file into a row. Holes of a sparse file stay holes; of a file that has none, each
// zero is stored, since not every reader of the format knows holes.
func (p *pusher) copyIn(f *os.File, st *unix.Stat_t, row *sqlvfs.Inode, hash io.Writer) error {
	// st_blocks counts units of 512 bytes whatever the file system's block is (stat(2)).
	if st.Size < bufferSize || st.Blocks*512 >= st.Size {
		return p.copyRange(f, row, hash, 0, st.Size)
	}
	hashed := int64(0)
	hashHole := func(end int64) error {
		if st.Size-st.Blocks*512 > maxHashedHoles {
			return p.interrupted()
		}
		_, err := io.CopyN(hash, zeroReader{}, end-hashed)
		return err
	}
	for off := int64(0); off < st.Size; {
		start, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
		end := st.Size
		switch {
		case err == unix.ENXIO: // nothing but a hole up to the end (lseek(2))
			start = st.Size
		case err != nil:
			return fmt.Errorf("find data: %w", err)
		default:
			if end, err = unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE); err != nil {
				return fmt.Errorf("find hole: %w", err)
			}
		}
		start, end = min(start, st.Size), min(end, st.Size)
		if err := hashHole(start); err != nil {
			return err
		}
		if err := p.copyRange(f, row, hash, start, end); err != nil {
			return err
		}
		off = end
		hashed = end
	}
	if row.Attr.Size < st.Size {
		if err := p.store.Truncate(row, st.Size, nil, p.begun); err != nil {
			return p.storeFailed(err)
		}
	}
	return nil
}

func (p *pusher) copyRange(f *os.File, row *sqlvfs.Inode, hash io.Writer, off, end int64) error {
	return pieces(p.ctx, f, off, end, func(data []byte, off int64) error {
		hash.Write(data)
		p.report.Add(0, int64(len(data)))
		return p.storeFailed(p.store.WriteAt(row, data, off, nil, p.begun))
	})
}

// zeroReader is what a hole reads as.
type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// complete brings into the database what a session has left on the host of a file that it changed a
// part of, so that the database does not need the host's any more.
func (p *pusher) complete(at string, st *unix.Stat_t) error {
	s, ok := p.supplied[at]
	if !ok || s.Limit == 0 || p.opt.DryRun || p.beside || kind(st.Mode) != unix.S_IFREG {
		return nil
	}
	row, err := p.rows().get(s.Ino)
	if err != nil {
		return p.storeFailed(err)
	}
	defer p.rows().put(row)
	if row.Origin == nil || row.Origin.Fingerprint != hostfs.Fingerprint(st) {
		return nil
	}
	f, err := p.host.openFile(at)
	if err != nil {
		return err
	}
	defer f.Close()
	err = p.store.Fill(row, f, st.Blocks*512 < st.Size, func(int) error { return p.ctx.Err() })
	if err != nil && p.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
