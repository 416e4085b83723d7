package git

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

const (
	maxIndex = 512 << 20 // bytes of an index
	maxPaths = 512 << 20 // of what is in it, or in a tree: few bytes of version 4, and few trees, can stand for much
	// entryBytes is how much an entry of either is counted for, besides its name.
	entryBytes = 40
	statBytes  = 40 // ctime, mtime, dev, ino, mode, uid, gid, size: gitformat-index(5)
)

var errIndex = errors.New("an index of a form that art does not know")

// indexEntry is an entry of an index. go-git's decoder takes forty times as long, and its encoder does not
// keep the order of what is not merged.
type indexEntry struct {
	name   string
	mode   filemode.FileMode
	id     ID
	stage  uint8
	valid  bool // assume-unchanged
	skip   bool // skip-worktree
	intent bool // intent-to-add
	stat   [statBytes]byte
}

func (e *indexEntry) same(o *indexEntry) bool {
	return e.name == o.name && e.stage == o.stage && e.mode == o.mode && e.id == o.id && e.skip == o.skip && e.intent == o.intent
}

func (e *indexEntry) compare(o *indexEntry) int {
	return cmp.Or(strings.Compare(e.name, o.name), cmp.Compare(e.stage, o.stage))
}

// decodeIndex reads an index. root is the tree that its entries make, if it says so.
func decodeIndex(data []byte) (list []indexEntry, root ID, err error) {
	if len(data) < 12+sha1.Size || string(data[:4]) != "DIRC" {
		return nil, root, errDamaged
	}
	body, sum := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if is := sha1.Sum(body); !bytes.Equal(is[:], sum) && !bytes.Equal(sum, make([]byte, sha1.Size)) { // index.skipHash
		return nil, root, errDamaged
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, root, errIndex
	}
	if int64(count)*63 > int64(len(data)) {
		return nil, root, errDamaged
	}
	list = make([]indexEntry, 0, count)
	rest, left := body[12:], min(maxPaths, 32<<20+16*len(data))
	for range count {
		var e indexEntry
		last := ""
		if len(list) > 0 {
			last = list[len(list)-1].name
		}
		if rest, err = e.decode(rest, version, last); err != nil {
			return nil, root, err
		}
		if len(list) > 0 && list[len(list)-1].compare(&e) >= 0 {
			return nil, root, errDamaged
		}
		if left -= entryBytes + len(e.name); left < 0 {
			return nil, root, errLarge
		}
		list = append(list, e)
	}
	for len(rest) >= 8 {
		name, size := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		if int64(size) > int64(len(rest)-8) {
			return nil, root, errDamaged
		}
		if name[0] < 'A' || name[0] > 'Z' { // split, or with directories: it is not all there
			return nil, root, errIndex
		}
		if name == "TREE" {
			root = cachedRoot(rest[8 : 8+size])
		}
		rest = rest[8+size:]
	}
	return list, root, nil
}

// cachedRoot returns the tree that an index says it makes, in the first record of its extension TREE.
func cachedRoot(data []byte) (id ID) {
	text, rest, ok := bytes.Cut(data, []byte{'\n'})
	count, _, _ := strings.Cut(strings.TrimPrefix(string(text), "\x00"), " ")
	if n, err := strconv.Atoi(count); ok && err == nil && n >= 0 && len(rest) >= len(id) {
		copy(id[:], rest)
	}
	return id
}

func (e *indexEntry) decode(data []byte, version uint32, last string) (rest []byte, err error) {
	const fixed = statBytes + sha1.Size + 2
	if len(data) < fixed {
		return nil, errDamaged
	}
	copy(e.stat[:], data)
	e.mode = filemode.FileMode(binary.BigEndian.Uint32(data[24:]))
	copy(e.id[:], data[statBytes:])
	flags := binary.BigEndian.Uint16(data[statBytes+sha1.Size:])
	e.valid, e.stage = flags&0x8000 != 0, uint8(flags>>12&3)
	size := fixed
	if flags&0x4000 != 0 {
		if len(data) < fixed+2 || version < 3 {
			return nil, errDamaged
		}
		more := binary.BigEndian.Uint16(data[fixed:])
		e.skip, e.intent = more&0x4000 != 0, more&0x2000 != 0
		size += 2
	}
	at, keep := size, 0
	if version == 4 {
		strip, n := varint(data[at:])
		if n == 0 || strip > len(last) {
			return nil, errDamaged
		}
		at, keep = at+n, len(last)-strip
	}
	end := bytes.IndexByte(data[at:], 0)
	if end < 0 {
		return nil, errDamaged
	}
	e.name = last[:keep] + string(data[at:at+end])
	if at += end + 1; version < 4 {
		at = (size + end + 8) &^ 7
	}
	switch e.mode {
	case filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Submodule:
	default:
		return nil, errIndex
	}
	if !validPath(e.name) || at > len(data) {
		return nil, errDamaged
	}
	return data[at:], nil
}

// varint reads a number as packs have offsets, and how many bytes it takes.
func varint(data []byte) (v, n int) {
	for n < len(data) && n < 4 {
		c := data[n]
		if n > 0 {
			v++
		}
		v = v<<7 | int(c&0x7f)
		if n++; c&0x80 == 0 {
			return v, n
		}
	}
	return 0, 0
}

// encodeIndex writes an index, without anything that only makes git faster.
func encodeIndex(list []indexEntry) []byte {
	version := uint32(2)
	for i := range list {
		if list[i].skip || list[i].intent {
			version = 3
		}
	}
	b := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for i := range list {
		e := &list[i]
		start := len(b)
		b = append(b, e.stat[:]...)
		binary.BigEndian.PutUint32(b[start+24:], uint32(e.mode))
		b = append(b, e.id[:]...)
		flags := uint16(e.stage)<<12 | uint16(min(len(e.name), 0xfff))
		if e.valid {
			flags |= 0x8000
		}
		more := uint16(0)
		if e.skip {
			more |= 0x4000
		}
		if e.intent {
			more |= 0x2000
		}
		if more != 0 {
			flags |= 0x4000
		}
		b = binary.BigEndian.AppendUint16(b, flags)
		if more != 0 {
			b = binary.BigEndian.AppendUint16(b, more)
		}
		b = append(b, e.name...)
		b = append(b, make([]byte, 8-(len(b)-start)%8)...)
	}
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

func sameIndex(a, b []indexEntry) bool {
	return slices.EqualFunc(a, b, func(x, y indexEntry) bool { return x.same(&y) })
}

// takeStat gives entries of the guest's index what the host's says of the same: then git need not read these
// files. Of others git reads the content when it is next asked, since no file has the stat data zero.
func takeStat(guest, host []indexEntry) {
	j := 0
	for i := range guest {
		e := &guest[i]
		e.stat, e.valid = [statBytes]byte{}, false
		for j < len(host) && host[j].compare(e) < 0 {
			j++
		}
		if j < len(host) && host[j].same(e) {
			e.stat, e.valid = host[j].stat, host[j].valid
		}
	}
}

// staged returns the entries in which an index differs from a tree, by path; those that only the tree has
// have no mode.
func (o *objects) staged(list []indexEntry, root, tree ID) (diff []indexEntry, err error) {
	if root == tree && !root.IsZero() && !slices.ContainsFunc(list, func(e indexEntry) bool { return e.stage != 0 }) {
		return nil, nil
	}
	files := map[string]treeEntry{}
	if !tree.IsZero() {
		left := maxPaths
		if err := o.flatten(tree, "", files, &left); err != nil {
			return nil, err
		}
	}
	for _, e := range list {
		t, ok := files[e.name]
		delete(files, e.name)
		if (!ok || t.id != e.id || t.mode != e.mode || e.stage != 0) && !e.intent {
			diff = append(diff, e)
		}
	}
	for name := range files {
		diff = append(diff, indexEntry{name: name})
	}
	return diff, nil
}

// flatten adds the files of a tree, with no more bytes of entries and paths than are left.
func (o *objects) flatten(tree ID, dir string, files map[string]treeEntry, left *int) error {
	list, err := o.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range list {
		if *left -= entryBytes + len(dir) + len(e.name); *left < 0 || len(dir) > 4096 {
			return errLarge
		}
	}
	for _, e := range list {
		if e.mode == filemode.Dir {
			if err := o.flatten(e.id, dir+e.name+"/", files, left); err != nil {
				return err
			}
			continue
		}
		if e.mode == filemode.Deprecated { // 100664, which git reads as 100644
			e.mode = filemode.Regular
		}
		files[dir+e.name] = e
	}
	return nil
}

// find returns what a tree has at a path.
func (o *objects) find(tree ID, at string) (e treeEntry, ok bool, err error) {
	for at != "" {
		name, rest, _ := strings.Cut(at, "/")
		list, err := o.tree(tree)
		if err != nil {
			return e, false, err
		}
		i := slices.IndexFunc(list, func(t treeEntry) bool { return t.name == name })
		if i < 0 || rest != "" && list[i].mode != filemode.Dir {
			return e, false, nil
		}
		e, at, tree = list[i], rest, list[i].id
	}
	return e, true, nil
}
