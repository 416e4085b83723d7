package git

import (
	"bytes"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// What the guest wrote may be anything. Each parser takes it without a panic, and what it accepts it
// writes so that it reads the same again.

func FuzzIndex(f *testing.F) {
	list := []indexEntry{{name: "a", mode: filemode.Regular}, {name: "d/b", mode: filemode.Executable, intent: true}, {name: "d/c", mode: filemode.Symlink, stage: 2}}
	f.Add(encodeIndex(list))
	f.Add([]byte("DIRC"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, err := decodeIndex(data)
		if err != nil {
			return
		}
		again, _, err := decodeIndex(encodeIndex(list))
		if err != nil || !sameIndex(list, again) {
			t.Fatalf("%v: %v became %v", err, list, again)
		}
	})
}

func FuzzTree(f *testing.F) {
	f.Add([]byte("100644 a\x00aaaaaaaaaaaaaaaaaaaa40000 d\x00bbbbbbbbbbbbbbbbbbbb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseTree(data)
		for _, e := range list {
			if err == nil && !validPath(e.name) {
				t.Fatalf("%q", e.name)
			}
		}
	})
}

func FuzzCommit(f *testing.F) {
	f.Add([]byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\ncommitter c <c> 1 +0000\n\nsubject\n"))
	f.Fuzz(func(t *testing.T, data []byte) { parseCommit(data) })
}

func FuzzRefs(f *testing.F) {
	f.Add([]byte("4b825dc642cb6eb9a060e54bf8d69288fbee4904 refs/heads/a\n^4b825dc642cb6eb9a060e54bf8d69288fbee4904\nref: refs/heads/b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name := range parsePacked(data) {
			if !validRef(name) {
				t.Fatalf("%q", name)
			}
		}
		if v, ok := parseRef(data); ok && v.sym != "" && !validRef(v.sym) {
			t.Fatalf("%q", v.sym)
		}
	})
}

func FuzzReflog(f *testing.F) {
	f.Add([]byte("4b825dc642cb6eb9a060e54bf8d69288fbee4904 4b825dc642cb6eb9a060e54bf8d69288fbee4904 a <b> 1 +0000\tcommit: x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := parseLog(data)
		text := formatLog(lines)
		if !bytes.Equal(formatLog(parseLog(text)), text) {
			t.Fatalf("%q", text)
		}
		for _, l := range lines {
			l.when()
		}
	})
}

func FuzzLoose(f *testing.F) {
	f.Add([]byte("x\x9c\x4b\xca\xc9\x4f\x52\x30\x60\x00\x00\x09\xb0\x01\xf0"))
	f.Fuzz(func(t *testing.T, data []byte) { readLoose(memory{bytes.NewReader(data)}, 1<<20) })
}

// FuzzPack reads each object that an index names, which has them at any place of the pack.
func FuzzPack(f *testing.F) {
	for _, objects := range [][]packed{
		{{id: id(1), kind: plumbing.BlobObject, data: []byte("text")}, {id: id(2), kind: plumbing.REFDeltaObject, base: id(1), data: delta(4, 3)}},
		{{id: id(1), kind: plumbing.REFDeltaObject, base: id(2), data: delta(4, 4)}, {id: id(2), kind: plumbing.REFDeltaObject, base: id(1), data: delta(4, 4)}},
		{{id: id(1), kind: plumbing.CommitObject, data: []byte("tree x")}, {id: id(2), kind: plumbing.OFSDeltaObject, data: []byte{6, 1, 1, 'x'}}},
	} {
		p := makePack(f, objects...)
		idx, data := content(p.idx.file), content(p.file)
		f.Add(idx, data)
		f.Add(idx[:len(idx)-30], data)
	}
	f.Fuzz(func(t *testing.T, idx, data []byte) {
		p, err := packOf(memory{bytes.NewReader(idx)}, memory{bytes.NewReader(data)})
		if err != nil {
			return
		}
		const limit = 1 << 16
		for i := range min(p.idx.count(), 100) {
			name, err := p.idx.name(i)
			if err != nil {
				return
			}
			kind, err := p.kind(ID(name))
			obj, err2 := p.read(ID(name), limit)
			if err2 == nil && (err != nil || obj.kind != kind || len(obj.data) > limit) {
				t.Fatalf("%v, %v: a %v of %d bytes", err, kind, obj.kind, len(obj.data))
			}
		}
	})
}

// FuzzDelta applies any delta to a base.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("base"), delta(4, 4))
	f.Add([]byte("base"), []byte{4, 7, 3, 'n', 'e', 'w', 0x91, 1, 3})
	f.Fuzz(func(t *testing.T, base, with []byte) {
		p := makePack(t, packed{id: id(1), kind: plumbing.BlobObject, data: base}, packed{id: id(2), kind: plumbing.REFDeltaObject, base: id(1), data: with})
		if obj, err := p.read(id(2), 1<<16); err == nil && len(obj.data) > 1<<16 {
			t.Fatal(len(obj.data))
		}
	})
}

func content(f File) []byte {
	b := make([]byte, f.Size())
	f.ReadAt(b, 0)
	return b
}
