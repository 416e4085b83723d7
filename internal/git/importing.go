package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"golang.org/x/sys/unix"
)

// packFrom is how many objects make a pack instead of a file each.
const packFrom = 1000

// Tests have these fail.
var (
	syncfs = unix.Syncfs
	fsync  = (*os.File).Sync
)

// Import writes the objects that the host lacks. Nothing refers to them yet, so it is no matter where it
// ends, or whether anything else follows. That some have no parents is written down first: what is there is
// taken for whole.
func (p *Plan) Import(ctx context.Context) error {
	want := p.closure.want
	if len(want) == 0 {
		return nil
	}
	if err := p.writeShallow(); err != nil {
		return fmt.Errorf("shallow: %w", err)
	}
	var err error
	if len(want) >= packFrom {
		err = p.importPack(ctx, want)
	} else {
		for _, id := range want {
			if err = ctx.Err(); err == nil {
				err = p.importLoose(id)
			}
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	// One call for all, and before anything refers to them.
	return syncfs(int(p.host.dir.Fd()))
}

// importLoose writes an object to a file of its own: the guest's, if it is one too and holds what it is
// called by.
func (p *Plan) importLoose(id ID) error {
	tmp := "objects/tmp_obj_" + rand.Text() // git prune removes those that are left behind
	f, err := p.host.create(tmp, 0o444)
	if err != nil {
		return err
	}
	err = p.writeLoose(f, id)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		return p.host.move(tmp, "objects/"+loosePath(id))
	}
	p.host.remove(tmp)
	return err
}

func (p *Plan) writeLoose(w io.Writer, id ID) error {
	if f, err := p.guest.Open("objects/" + loosePath(id)); err == nil {
		defer f.Close()
		if err := copyLoose(w, io.NewSectionReader(f, 0, f.Size()), id); err != nil {
			return fmt.Errorf("object %s: %w", id, err)
		}
		return nil
	}
	obj, err := p.objects.read(id, maxObject)
	if err != nil {
		return err
	}
	z := zlib.NewWriter(w)
	fmt.Fprintf(z, "%s %d\x00", obj.kind, len(obj.data))
	z.Write(obj.data)
	return z.Close()
}

// copyLoose copies an object's file, if what is in it has the right hash and nothing follows.
func copyLoose(w io.Writer, r io.Reader, id ID) error {
	b := bufio.NewReader(io.TeeReader(r, w))
	z, err := zlib.NewReader(b)
	if err != nil {
		return errDamaged
	}
	content := bufio.NewReader(z)
	kind, size, err := looseHeader(content)
	if err != nil {
		return err
	}
	h := plumbing.NewHasher(kind, size)
	n, err := io.Copy(h, io.LimitReader(content, size))
	if err != nil || n != size || h.Sum() != id {
		return errDamaged
	}
	if _, err := content.ReadByte(); err != io.EOF {
		return errDamaged
	}
	if _, err := b.ReadByte(); err != io.EOF {
		return errDamaged
	}
	return nil
}

// importPack writes objects to one pack and its index (gitformat-pack(5)).
func (p *Plan) importPack(ctx context.Context, want []ID) (err error) {
	tmp := "objects/pack/tmp_pack_" + rand.Text()
	f, err := p.host.create(tmp, 0o444)
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		if err != nil {
			p.host.remove(tmp)
		}
	}()
	idx := new(idxfile.Writer)
	sum, err := p.writePack(ctx, f, want, idx)
	if err == nil {
		err = fsync(f)
	}
	if err != nil {
		return err
	}
	x, err := idx.Index()
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if _, err := idxfile.NewEncoder(&data).Encode(x); err != nil {
		return err
	}
	name := "objects/pack/pack-" + sum.String()
	if err := p.host.move(tmp, name+".pack"); err != nil {
		return err
	}
	tmp = "objects/pack/tmp_idx_" + rand.Text()
	g, err := p.host.create(tmp, 0o444)
	if err != nil {
		return err
	}
	if err := written(g, data.Bytes()); err != nil {
		return err
	}
	return p.host.move(tmp, name+".idx") // last: with it, git knows the pack
}

func (p *Plan) writePack(ctx context.Context, f *os.File, want []ID, idx *idxfile.Writer) (sum ID, err error) {
	buffered := bufio.NewWriterSize(f, 1<<20)
	all := sha1.New()
	w := &counting{w: io.MultiWriter(buffered, all)}
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(want)))
	w.Write(head)
	if err := idx.OnHeader(uint32(len(want))); err != nil {
		return sum, err
	}
	z := zlib.NewWriter(nil)
	for _, id := range want {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		obj, err := p.objects.read(id, maxObject)
		if err != nil {
			return sum, err
		}
		at := w.n
		crc := crc32.NewIEEE()
		to := io.MultiWriter(w, crc)
		to.Write(entryHead(obj))
		z.Reset(to)
		z.Write(obj.data)
		if err := z.Close(); err != nil {
			return sum, err
		}
		if err := idx.OnInflatedObjectContent(id, at, crc.Sum32(), nil); err != nil {
			return sum, err
		}
	}
	copy(sum[:], all.Sum(nil))
	buffered.Write(sum[:])
	if err := buffered.Flush(); err != nil {
		return sum, err
	}
	return sum, idx.OnFooter(sum)
}

// entryHead is what is before an object's content in a pack: its type and its size.
func entryHead(obj object) []byte {
	size := uint64(len(obj.data))
	c := byte(obj.kind)<<4 | byte(size&15)
	var b []byte
	for size >>= 4; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(b, c)
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
