package git

import (
	"bytes"
	"testing"

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
	f.Fuzz(func(t *testing.T, data []byte) { readLoose(bytes.NewReader(data), 1<<20) })
}

// FuzzPack reads each object that a pack's index names.
func FuzzPack(f *testing.F) {
	f.Add([]byte("\xfftOc\x00\x00\x00\x02"), []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, idx, data []byte) {
		p, err := openPack(bytes.NewReader(idx), memory{bytes.NewReader(data)}, nil)
		if err == nil {
			p.read(ID{}, 1<<20)
		}
	})
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }
