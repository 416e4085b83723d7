package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	maxObject = 512 << 20 // bytes of an object that is read as a whole
	maxMeta   = 64 << 20  // bytes of a commit, a tree or a tag
	maxIdx    = 1 << 30   // bytes of a pack's index
	maxPacks  = 4096
)

// objects are those of both sides.
type objects struct {
	host       *hostDir
	guest      Guest
	stores     []*hostStore // the host's own, and its alternates
	hostPacks  []*pack      // opened when an object of the host's is read
	packs      []*pack      // of the guest
	looked     bool
	promisor   bool         // the host has objects elsewhere, and may lack any of them
	cache, own cache.Object // of the host's packs, of the guest's
	known      map[ID]bool  // whether the host has it
}

// hostStore is a directory of objects on the host.
type hostStore struct {
	dir  *hostDir
	at   string // of the directory in dir
	idxs []*packIndex
}

func newObjects(h *hostDir, g Guest) (*objects, error) {
	o := &objects{host: h, guest: g, cache: cache.NewObjectLRU(16 << 20), own: cache.NewObjectLRU(16 << 20), known: map[ID]bool{}}
	return o, o.addStore(h, "objects", 0)
}

// addStore adds a directory of objects, and those that it says are elsewhere: on the host, only the user writes
// that (gitrepository-layout(5), objects/info/alternates).
func (o *objects) addStore(h *hostDir, at string, depth int) error {
	s := &hostStore{dir: h, at: at}
	o.stores = append(o.stores, s)
	entries, err := h.list(path.Join(at, "pack"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		o.promisor = o.promisor || strings.HasSuffix(e.Name, ".promisor")
		if !strings.HasSuffix(e.Name, ".idx") {
			continue
		}
		x, err := openIndex(h, path.Join(at, "pack", e.Name))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		s.idxs = append(s.idxs, x)
	}
	data, err := h.read(path.Join(at, "info/alternates"), 1<<20)
	if err != nil || depth > 5 {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if !path.IsAbs(line) {
			// The kernel resolves it, not path.Join: what is on the way may be a link.
			line = fmt.Sprintf("/proc/self/fd/%d/%s/%s", h.dir.Fd(), at, line)
		}
		d, err := os.Open(line)
		if err != nil {
			continue // its objects are missing to git too
		}
		other, err := newHost(d)
		if err == nil {
			err = o.addStore(other, ".", depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *objects) close() {
	for _, s := range o.stores {
		for _, x := range s.idxs {
			x.f.Close()
		}
		if s.dir != o.host {
			s.dir.dir.Close()
		}
	}
	for _, p := range append(o.packs, o.hostPacks...) {
		p.close()
	}
}

// onHost tells whether the host has an object.
func (o *objects) onHost(id ID) (bool, error) {
	if known, ok := o.known[id]; ok {
		return known, nil
	}
	for _, s := range o.stores {
		if s.dir.exists(path.Join(s.at, loosePath(id))) {
			o.known[id] = true
			return true, nil
		}
		for _, x := range s.idxs {
			ok, err := x.has(id)
			if ok || err != nil {
				o.known[id] = ok
				return ok, err
			}
		}
	}
	o.known[id] = false
	return false, nil
}

func loosePath(id ID) string {
	hex := id.String()
	return hex[:2] + "/" + hex[2:]
}

// object is one that was read, and has the hash that it is called by.
type object struct {
	kind plumbing.ObjectType
	data []byte
}

// read returns an object of either side, but none larger than limit.
func (o *objects) read(id ID, limit int64) (object, error) {
	for _, s := range o.stores {
		f, st, err := s.dir.openFile(path.Join(s.at, loosePath(id)))
		if err == nil {
			obj, err := readLoose(io.LimitReader(f, st.Size), limit)
			f.Close()
			return checked(id, obj, err)
		}
	}
	if f, err := o.guest.Open("objects/" + loosePath(id)); err == nil {
		obj, err := readLoose(io.NewSectionReader(f, 0, f.Size()), limit)
		f.Close()
		return checked(id, obj, err)
	}
	if err := o.openPacks(); err != nil {
		return object{}, err
	}
	for _, list := range [2][]*pack{o.hostPacks, o.packs} {
		for _, p := range list {
			obj, err := p.read(id, limit)
			if !errors.Is(err, plumbing.ErrObjectNotFound) {
				return checked(id, obj, err)
			}
		}
	}
	return object{}, fmt.Errorf("object %s: %w", id, errMissing)
}

func checked(id ID, obj object, err error) (object, error) {
	if err == nil && plumbing.ComputeHash(obj.kind, obj.data) != id {
		err = errDamaged
	}
	if err != nil {
		err = fmt.Errorf("object %s: %w", id, err)
	}
	return obj, err
}

// readLoose reads an object that has a file of its own.
func readLoose(r io.Reader, limit int64) (object, error) {
	z, err := zlib.NewReader(bufio.NewReader(r))
	if err != nil {
		return object{}, errDamaged
	}
	defer z.Close()
	b := bufio.NewReader(z)
	kind, size, err := looseHeader(b)
	if err != nil {
		return object{}, err
	}
	if size > limit {
		return object{}, errLarge
	}
	data, err := io.ReadAll(io.LimitReader(b, size+1))
	if err != nil || int64(len(data)) != size {
		return object{}, errDamaged
	}
	return object{kind, data}, nil
}

func looseHeader(b *bufio.Reader) (plumbing.ObjectType, int64, error) {
	var head []byte
	for len(head) < 32 {
		c, err := b.ReadByte()
		if err != nil {
			return 0, 0, errDamaged
		}
		if c == 0 {
			break
		}
		head = append(head, c)
	}
	name, number, _ := strings.Cut(string(head), " ")
	kind, err := plumbing.ParseObjectType(name)
	size, err2 := strconv.ParseInt(number, 10, 64)
	if err != nil || err2 != nil || size < 0 || kind == plumbing.OFSDeltaObject || kind == plumbing.REFDeltaObject {
		return 0, 0, errDamaged
	}
	return kind, size, nil
}

// pack is a file with many objects, which go-git reads.
type pack struct {
	file *packFile
	idx  *idxfile.MemoryIndex
	p    *packfile.Packfile
}

// openPacks opens the packs of both sides.
func (o *objects) openPacks() error {
	if o.looked {
		return nil
	}
	o.looked = true
	for _, s := range o.stores {
		for _, x := range s.idxs {
			f, st, err := s.dir.openFile(strings.TrimSuffix(x.at, ".idx") + ".pack")
			if err != nil {
				continue // git is replacing it, perhaps
			}
			p, err := openPack(io.NewSectionReader(x.f, 0, x.size), sizedFile{f, st.Size}, o.cache)
			if err != nil {
				f.Close()
				return fmt.Errorf("%s: %w", x.at, err)
			}
			o.hostPacks = append(o.hostPacks, p)
		}
	}
	l, err := o.guest.List("objects/pack")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range l.Own {
		name, ok := strings.CutSuffix(e.Name, ".idx")
		if !ok || len(o.packs) >= maxPacks {
			continue
		}
		idx, err := o.guest.Open("objects/pack/" + e.Name)
		if err != nil {
			return err
		}
		if idx.Size() > maxIdx {
			idx.Close()
			return fmt.Errorf("%s: %w", e.Name, errLarge)
		}
		f, err := o.guest.Open("objects/pack/" + name + ".pack")
		if err == nil {
			var p *pack
			if p, err = openPack(io.NewSectionReader(idx, 0, idx.Size()), f, o.own); err == nil {
				o.packs = append(o.packs, p)
			} else {
				f.Close()
			}
		}
		idx.Close()
		// What cannot be read holds nothing; if it is needed, an object is missing.
	}
	return nil
}

type sizedFile struct {
	*os.File
	size int64
}

func (f sizedFile) Size() int64 { return f.size }

func openPack(idx io.Reader, f File, c cache.Object) (p *pack, err error) {
	err = guarded(func() error {
		x := idxfile.NewMemoryIndex()
		if err := idxfile.NewDecoder(bufio.NewReaderSize(idx, 1<<16)).Decode(x); err != nil {
			return errDamaged
		}
		file := &packFile{SectionReader: io.NewSectionReader(f, 0, f.Size()), f: f}
		p = &pack{file, x, packfile.NewPackfileWithCache(x, nil, file, c, 0)}
		return nil
	})
	return p, err
}

func (p *pack) read(id ID, limit int64) (obj object, err error) {
	err = guarded(func() error {
		off, err := p.idx.FindOffset(id)
		if err != nil {
			return err
		}
		if size, err := p.p.GetSizeByOffset(off); err != nil {
			return errDamaged
		} else if size > limit {
			return errLarge
		}
		e, err := p.p.GetByOffset(off)
		if err != nil {
			return errDamaged
		}
		r, err := e.Reader()
		if err != nil {
			return errDamaged
		}
		defer r.Close()
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err != nil || int64(len(data)) > limit {
			return errDamaged
		}
		obj = object{e.Type(), data}
		return nil
	})
	return obj, err
}

func (p *pack) close() { p.file.f.Close() }

// packFile is a File as go-git wants it.
type packFile struct {
	*io.SectionReader
	f File
}

var _ billy.File = (*packFile)(nil)

func (*packFile) Name() string              { return "pack" }
func (*packFile) Write([]byte) (int, error) { return 0, os.ErrPermission }
func (*packFile) Lock() error               { return nil }
func (*packFile) Unlock() error             { return nil }
func (*packFile) Truncate(int64) error      { return os.ErrPermission }
func (*packFile) Close() error              { return nil }

// packIndex looks objects up in a pack's index of the host (gitformat-pack(5)) without reading all of it:
// that of a large repository has hundreds of megabytes.
type packIndex struct {
	f      *os.File
	at     string
	size   int64
	fanout [256]uint32
	names  int64 // where they begin
	stride int64
	skip   int64
	pages  map[byte][]byte
}

func openIndex(h *hostDir, at string) (*packIndex, error) {
	f, st, err := h.openFile(at)
	if err != nil {
		return nil, err
	}
	x := &packIndex{f: f, at: at, size: st.Size, pages: map[byte][]byte{}}
	var head [8 + 1024]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		f.Close()
		return nil, errDamaged
	}
	fan := head[8:]
	x.names, x.stride = 8+1024, sha1.Size
	if string(head[:8]) != "\xfftOc\x00\x00\x00\x02" { // version 1
		fan = head[:1024]
		x.names, x.stride, x.skip = 1024, 4+sha1.Size, 4
	}
	last := uint32(0)
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(fan[4*i:])
		if x.fanout[i] < last {
			f.Close()
			return nil, errDamaged
		}
		last = x.fanout[i]
	}
	if x.names+int64(last)*x.stride > st.Size {
		f.Close()
		return nil, errDamaged
	}
	return x, nil
}

// has tells whether the pack holds an object.
func (x *packIndex) has(id ID) (bool, error) {
	first := uint32(0)
	if id[0] > 0 {
		first = x.fanout[id[0]-1]
	}
	n := int64(x.fanout[id[0]] - first)
	page, ok := x.pages[id[0]]
	if !ok {
		page = make([]byte, n*x.stride)
		if _, err := x.f.ReadAt(page, x.names+int64(first)*x.stride); err != nil && n > 0 {
			return false, errDamaged
		}
		x.pages[id[0]] = page
	}
	low, high := int64(0), n
	for low < high {
		mid := (low + high) / 2
		switch at := mid*x.stride + x.skip; bytes.Compare(page[at:at+sha1.Size], id[:]) {
		case 0:
			return true, nil
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return false, nil
}
