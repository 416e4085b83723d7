package git

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxObject = 512 << 20 // bytes of an object that is read as a whole
	maxMeta   = 64 << 20  // bytes of a commit, a tree or a tag
	maxPacks  = 4096
)

// objects are those of both sides.
type objects struct {
	host      *hostDir
	guest     Guest
	stores    []*hostStore // the host's own, and its alternates
	hostPacks []*pack      // opened when an object of the host's is read
	packs     []*pack      // of the guest
	looked    bool
	promisor  bool // the host has objects elsewhere, and may lack any of them
	blocks    blocks
	bases     bases
	known     map[ID]bool   // whether the host has it
	made      map[ID]object // for the host
}

// hostStore is a directory of objects on the host.
type hostStore struct {
	dir   *hostDir
	at    string // of the directory in dir
	idxs  []*packIndex
	packs []string // where the packs are
}

func newObjects(h *hostDir, g Guest) (*objects, error) {
	o := &objects{host: h, guest: g, blocks: blocks{map[blockAt][]byte{}}, bases: bases{objects: map[baseAt]object{}}, known: map[ID]bool{}, made: map[ID]object{}}
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
		pack, ok := strings.CutSuffix(e.Name, ".idx")
		if !ok || !slices.Contains(entries, Entry{Name: pack + ".pack"}) {
			continue
		}
		name := path.Join(at, "pack", e.Name)
		f, st, err := h.openFile(name)
		var x *packIndex
		if err == nil {
			x, err = openIndex(sizedFile{f, st.Size}, &o.blocks)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		s.idxs, s.packs = append(s.idxs, x), append(s.packs, strings.TrimSuffix(name, ".idx")+".pack")
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
			x.file.Close()
		}
		if s.dir != o.host {
			s.dir.dir.Close()
		}
	}
	for _, p := range o.hostPacks {
		p.file.Close()
	}
	for _, p := range o.packs {
		p.idx.file.Close()
		p.file.Close()
	}
}

// onHost reports whether the host has an object.
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
	if obj, ok := o.made[id]; ok {
		return obj, nil
	}
	for _, s := range o.stores {
		f, st, err := s.dir.openFile(path.Join(s.at, loosePath(id)))
		if err == nil {
			obj, err := readLoose(sizedFile{f, st.Size}, limit)
			f.Close()
			return checked(id, obj, err)
		}
	}
	if f, err := o.guest.Open("objects/" + loosePath(id)); err == nil {
		obj, err := readLoose(f, limit)
		f.Close()
		return checked(id, obj, err)
	}
	if err := o.openPacks(); err != nil {
		return object{}, err
	}
	for _, list := range [2][]*pack{o.hostPacks, o.packs} {
		for _, p := range list {
			obj, err := p.read(id, limit)
			if !errors.Is(err, errMissing) {
				return checked(id, obj, err)
			}
		}
	}
	return object{}, fmt.Errorf("object %s: %w", id, errMissing)
}

// kind returns what kind of object one of the guest's is, without reading it.
func (o *objects) kind(id ID) (kind plumbing.ObjectType, err error) {
	if obj, ok := o.made[id]; ok {
		return obj.kind, nil
	}
	if f, err := o.guest.Open("objects/" + loosePath(id)); err == nil {
		_, kind, _, err = openLoose(f)
		f.Close()
		return kind, err
	}
	if err := o.openPacks(); err != nil {
		return 0, err
	}
	for _, p := range o.packs {
		if kind, err = p.kind(id); !errors.Is(err, errMissing) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("object %s: %w", id, err)
	}
	return kind, err
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
func readLoose(f File, limit int64) (object, error) {
	b, kind, size, err := openLoose(f)
	if err != nil {
		return object{}, err
	}
	if size > limit {
		return object{}, errLarge
	}
	data, err := inflated(b, size, f.Size())
	if err != nil {
		return object{}, err
	}
	if _, err := b.ReadByte(); err != io.EOF {
		return object{}, errDamaged
	}
	return object{kind, data}, nil
}

func openLoose(f File) (content *bufio.Reader, kind plumbing.ObjectType, size int64, err error) {
	z, err := zlib.NewReader(bufio.NewReader(io.NewSectionReader(f, 0, f.Size())))
	if err != nil {
		return nil, 0, 0, errDamaged
	}
	content = bufio.NewReader(z)
	kind, size, err = looseHeader(content)
	return content, kind, size, err
}

// maxRatio is how many bytes one byte of zlib can stand for (https://zlib.net/zlib_tech.html).
const maxRatio = 1032

// inflated reads an object of a size from zlib, of which no more than packed bytes are there.
func inflated(r io.Reader, size, packed int64) ([]byte, error) {
	if size/maxRatio > packed {
		return nil, errDamaged
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, errDamaged
	}
	return data, nil
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

// openPacks opens the packs of both sides.
func (o *objects) openPacks() error {
	if o.looked {
		return nil
	}
	o.looked = true
	for _, s := range o.stores {
		for i, x := range s.idxs {
			f, st, err := s.dir.openFile(s.packs[i])
			if err != nil {
				continue // git is replacing it, perhaps
			}
			o.hostPacks = append(o.hostPacks, &pack{x, sizedFile{f, st.Size}, &o.bases})
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
		x, err := openIndex(idx, &o.blocks)
		if err != nil {
			continue // it holds nothing; if that is needed, an object is missing
		}
		f, err := o.guest.Open("objects/pack/" + name + ".pack")
		if err != nil {
			idx.Close()
			continue
		}
		o.packs = append(o.packs, &pack{x, f, &o.bases})
	}
	return nil
}

type sizedFile struct {
	*os.File
	size int64
}

func (f sizedFile) Size() int64 { return f.size }
