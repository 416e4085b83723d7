package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"golang.org/x/sys/unix"
)

// Tests have these fail.
var (
	syncfs = unix.Syncfs
	fsync  = (*os.File).Sync
)

// Import writes the objects that the host lacks to one pack and its index (gitformat-pack(5)). All of them are there
// with the last rename, or none: where the host has an object, it has all that this refers to.
func (p *Plan) Import(ctx context.Context) error {
	if p.keepsObjects() {
		if err := p.shareDirectories(); err != nil {
			return err
		}
	}
	want := p.closure.want
	if len(want) == 0 {
		return nil
	}
	tmp := "objects/pack/tmp_art_" + rand.Text() // git prune removes what begins with tmp_, after a kill
	pack, idx := tmp+".pack", tmp+".idx"
	defer p.host.remove(pack)
	defer p.host.remove(idx)
	sum, err := p.writePack(ctx, pack, idx, want)
	if err != nil {
		return err
	}
	if err := p.writeShallow(); err != nil { // before there are commits without their parents
		return fmt.Errorf("shallow: %w", err)
	}
	name := "objects/pack/pack-" + sum.String()
	if err := p.host.rename(pack, name+".pack"); err != nil {
		return err
	}
	if err := p.host.rename(idx, name+".idx"); err != nil { // with it, git knows the pack
		return err
	}
	return syncfs(int(p.host.dir.Fd())) // before anything refers to them
}

// shareDirectories makes the directories on the host in which the guest keeps objects: in those that both have, it sees
// what the host is going to have.
func (p *Plan) shareDirectories() error {
	l, err := p.guest.List("objects")
	if err != nil {
		return nil // it has none of its own
	}
	for _, e := range l.Own {
		if _, err := hex.DecodeString(e.Name); err != nil || len(e.Name) != 2 || !e.Dir {
			continue
		}
		d, err := p.host.parent("objects/" + e.Name + "/_")
		if err != nil {
			return err
		}
		d.Close()
	}
	return nil
}

// writePack writes a pack and its index, and makes both durable.
func (p *Plan) writePack(ctx context.Context, pack, idx string, want []ID) (sum ID, err error) {
	f, err := p.host.create(pack, 0o444)
	if err != nil {
		return sum, err
	}
	w := new(idxfile.Writer)
	sum, err = p.writeObjects(ctx, f, want, w)
	if err == nil {
		err = fsync(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return sum, err
	}
	x, err := w.Index()
	if err != nil {
		return sum, err
	}
	var data bytes.Buffer
	if _, err := idxfile.NewEncoder(&data).Encode(x); err != nil {
		return sum, err
	}
	g, err := p.host.create(idx, 0o444)
	if err != nil {
		return sum, err
	}
	return sum, written(g, data.Bytes())
}

func (p *Plan) writeObjects(ctx context.Context, f io.Writer, want []ID, idx *idxfile.Writer) (sum ID, err error) {
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
		at := w.n
		crc := crc32.NewIEEE()
		if err := p.objects.writeTo(io.MultiWriter(w, crc), z, id); err != nil {
			return sum, fmt.Errorf("object %s: %w", id, err)
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

// writeTo writes an object as it is in a pack, unless what is in it has another hash.
func (o *objects) writeTo(w io.Writer, z *zlib.Writer, id ID) error {
	content, kind, size, done, err := o.open(id)
	if err != nil {
		return err
	}
	defer done()
	if _, err := w.Write(entryHead(kind, size)); err != nil {
		return err
	}
	z.Reset(w)
	h := plumbing.NewHasher(kind, size)
	n, err := io.Copy(io.MultiWriter(z, h), io.LimitReader(content, size+1))
	if err != nil {
		return err
	}
	if n != size || h.Sum() != id {
		return errDamaged
	}
	return z.Close()
}

// open opens an object of the guest's. One that has a file of its own is not read as a whole.
func (o *objects) open(id ID) (content io.Reader, kind plumbing.ObjectType, size int64, done func(), err error) {
	if f, err := o.guest.Open("objects/" + loosePath(id)); err == nil {
		b, kind, size, err := openLoose(f)
		return damaging{b}, kind, size, func() { f.Close() }, err
	}
	obj, err := o.read(id, maxObject)
	return bytes.NewReader(obj.data), obj.kind, int64(len(obj.data)), func() {}, err
}

// damaging reads what is damaged where it cannot be read.
type damaging struct{ r io.Reader }

func (d damaging) Read(b []byte) (int, error) {
	n, err := d.r.Read(b)
	if err != nil && err != io.EOF {
		err = errDamaged
	}
	return n, err
}

// entryHead is what is before an object's content in a pack: its type and its size.
func entryHead(kind plumbing.ObjectType, of int64) []byte {
	size := uint64(of)
	c := byte(kind)<<4 | byte(size&15)
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
