package git

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	gitsync "github.com/go-git/go-git/v5/utils/sync"
)

// A pack has most objects as what makes them out of another one of its objects, and that out of yet another: a
// chain of deltas. One that the guest wrote can have no end, or a few hundred bytes of it can make an object of any
// size. So a chain has a bounded length, each object in it a bounded size, and all of them a bounded sum.
const (
	// maxChain is how many deltas git makes a chain of, at most (git-pack-objects(1), --depth).
	maxChain = 4095
	// maxChainSum times the size that an object may have is what the objects of its chain may have together: chains
	// are 50 long if nobody says otherwise.
	maxChainSum = 64
)

// pack is a file with many objects, and its index.
type pack struct {
	idx   *packIndex
	file  File
	bases *bases
}

// bases are the objects that others were last made from.
type bases struct {
	objects map[baseAt]object
	size    int
}

type baseAt struct {
	of *pack
	at int64
}

const maxBases = 64 << 20 // bytes

func (b *bases) add(at baseAt, obj object) {
	if len(obj.data) > maxBases/4 {
		return
	}
	if _, there := b.objects[at]; there {
		return
	}
	if b.size += len(obj.data); b.size > maxBases {
		clear(b.objects)
		b.size = len(obj.data)
	}
	b.objects[at] = obj
}

// stored is an object as the pack has it.
type stored struct {
	at, data int64 // where it begins, and where its content does
	kind     plumbing.ObjectType
	size     int64 // of the content, of a delta that of the delta
	base     int64 // where the object is that a delta is made for
}

func (s *stored) isDelta() bool {
	return s.kind == plumbing.OFSDeltaObject || s.kind == plumbing.REFDeltaObject
}

// stored reads what is before the content of an object (gitformat-pack(5), "pack-*.pack files").
func (p *pack) stored(at int64) (s stored, err error) {
	if at < 0 {
		return s, errDamaged
	}
	var b [40]byte
	n, err := p.file.ReadAt(b[:], at)
	if n == 0 {
		return s, damagedAt(err)
	}
	i := 0
	next := func() byte {
		if i++; i > n {
			return 0
		}
		return b[i-1]
	}
	c := next()
	s = stored{at: at, kind: plumbing.ObjectType(c >> 4 & 7), size: int64(c & 15)}
	for shift := 4; c&0x80 != 0 && shift < 60; shift += 7 {
		c = next()
		s.size |= int64(c&0x7f) << shift
	}
	switch s.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	case plumbing.OFSDeltaObject:
		c = next()
		back := int64(c & 0x7f)
		for c&0x80 != 0 && back < 1<<48 {
			c = next()
			back = (back+1)<<7 | int64(c&0x7f)
		}
		s.base = at - back
	case plumbing.REFDeltaObject:
		ok := false
		if i+len(ID{}) <= n {
			s.base, ok, err = p.idx.find(ID(b[i : i+len(ID{})]))
			i += len(ID{})
		}
		if !ok || err != nil {
			return s, damagedAt(err)
		}
	default:
		return s, errDamaged
	}
	if c&0x80 != 0 || i > n {
		return s, errDamaged
	}
	s.data = at + int64(i)
	return s, nil
}

// chain returns the deltas that make an object, its own first, and the object that they begin with: if it was
// read lately obj, else base.
func (p *pack) chain(at int64) (deltas []stored, base stored, obj object, err error) {
	for len(deltas) <= maxChain {
		if obj, ok := p.bases.objects[baseAt{p, at}]; ok {
			return deltas, stored{at: at, kind: obj.kind, size: int64(len(obj.data))}, obj, nil
		}
		s, err := p.stored(at)
		if err != nil || !s.isDelta() {
			return deltas, s, obj, err
		}
		deltas = append(deltas, s)
		at = s.base
	}
	return nil, base, obj, errDamaged
}

// kind returns what kind of object one is.
func (p *pack) kind(id ID) (plumbing.ObjectType, error) {
	at, ok, err := p.idx.find(id)
	if !ok {
		return 0, orMissing(err)
	}
	_, base, _, err := p.chain(at)
	return base.kind, err
}

func orMissing(err error) error {
	if err == nil {
		err = errMissing
	}
	return err
}

// read returns an object, but neither it nor what it is made from is larger than limit.
func (p *pack) read(id ID, limit int64) (obj object, err error) {
	at, ok, err := p.idx.find(id)
	if !ok {
		return obj, orMissing(err)
	}
	deltas, base, obj, err := p.chain(at)
	if err != nil {
		return obj, err
	}
	if base.size > limit {
		return object{}, errLarge
	}
	if obj.kind == 0 {
		obj.kind = base.kind
		if obj.data, err = p.inflate(base); err != nil {
			return object{}, err
		}
	}
	at = base.at
	left := maxChainSum * limit
	for i := len(deltas) - 1; i >= 0; i-- {
		p.bases.add(baseAt{p, at}, obj)
		if obj.data, err = p.patch(obj.data, deltas[i], min(limit, left)); err != nil {
			return object{}, err
		}
		at, left = deltas[i].at, left-int64(len(obj.data))
	}
	return obj, nil
}

// content opens the content of an object as the pack has it.
func (p *pack) content(s stored) (r *bufio.Reader, done func(), err error) {
	packed := gitsync.GetBufioReader(io.NewSectionReader(p.file, s.data, p.file.Size()-s.data))
	z, err := gitsync.GetZlibReader(packed)
	if err != nil {
		gitsync.PutBufioReader(packed)
		return nil, nil, errDamaged
	}
	r = gitsync.GetBufioReader(z.Reader)
	return r, func() {
		gitsync.PutBufioReader(r)
		gitsync.PutZlibReader(z)
		gitsync.PutBufioReader(packed)
	}, nil
}

func (p *pack) inflate(s stored) ([]byte, error) {
	r, done, err := p.content(s)
	if err != nil {
		return nil, err
	}
	defer done()
	return inflated(r, s.size, p.file.Size()-s.data)
}

// patch makes an object of no more than limit bytes out of another one (gitformat-pack(5), "Deltified
// representation").
func (p *pack) patch(base []byte, delta stored, limit int64) ([]byte, error) {
	r, done, err := p.content(delta)
	if err != nil {
		return nil, err
	}
	defer done()
	from, err := binary.ReadUvarint(r)
	if err != nil || from != uint64(len(base)) {
		return nil, errDamaged
	}
	to, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, errDamaged
	}
	if to > uint64(limit) {
		return nil, errLarge
	}
	out := make([]byte, 0, to)
	for uint64(len(out)) < to {
		op, err := r.ReadByte()
		if err != nil || op == 0 {
			return nil, errDamaged
		}
		var part []byte
		if op&0x80 == 0 { // so many bytes follow
			part = out[len(out):min(uint64(len(out))+uint64(op), to)]
			if _, err := io.ReadFull(r, part); err != nil || len(part) < int(op) {
				return nil, errDamaged
			}
		} else if part, err = copied(base, op, r); err != nil || uint64(len(out)+len(part)) > to {
			return nil, errDamaged
		}
		out = append(out, part...)
	}
	return out, nil
}

// copied returns the part of a base that a delta says is to be copied. The bits of op tell which bytes of its offset
// and of its size follow.
func copied(base []byte, op byte, r *bufio.Reader) ([]byte, error) {
	var number [8]byte // the offset, and the size
	for i := range 7 {
		if op>>i&1 == 1 {
			c, err := r.ReadByte()
			if err != nil {
				return nil, err
			}
			number[i] = c
		}
	}
	at, size := uint64(binary.LittleEndian.Uint32(number[:])), uint64(binary.LittleEndian.Uint32(number[4:]))
	if size == 0 {
		size = 1 << 16
	}
	if at+size > uint64(len(base)) {
		return nil, errDamaged
	}
	return base[at : at+size], nil
}
