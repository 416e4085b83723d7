package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// packed is an object of a pack that a test makes.
type packed struct {
	id   ID
	kind plumbing.ObjectType
	base ID // of a delta
	data []byte
	size int // what it says to be large, if not the size of data
}

// id is one that an object does not have.
func id(n byte) ID { return ID{n, n} }

// delta copies n bytes from the start of a base of a size.
func delta(base, n uint64) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, base), n)
	for ; n > 0; n -= min(n, 0xffffff) {
		m := min(n, 0xffffff)
		b = append(b, 0xf0, byte(m), byte(m>>8), byte(m>>16))
	}
	return b
}

func deflated(data []byte) []byte { return deflate(zlib.NewWriter(nil), data) }

func deflate(w *zlib.Writer, data []byte) []byte {
	var b bytes.Buffer
	w.Reset(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func makePack(t testing.TB, objects ...packed) *pack {
	b := []byte("PACK\x00\x00\x00\x02")
	b = binary.BigEndian.AppendUint32(b, uint32(len(objects)))
	w, z := new(idxfile.Writer), zlib.NewWriter(nil)
	w.OnHeader(uint32(len(objects)))
	for _, o := range objects {
		at := int64(len(b))
		head := entryHead(o.kind, int64(max(o.size, len(o.data))))
		if o.kind == plumbing.REFDeltaObject {
			head = append(head, o.base[:]...)
		}
		b = append(append(b, head...), deflate(z, o.data)...)
		w.OnInflatedObjectContent(o.id, at, crc32.ChecksumIEEE(b[at:]), nil)
	}
	sum := sha1.Sum(b)
	w.OnFooter(sum)
	x, err := w.Index()
	if err != nil {
		t.Fatal(err)
	}
	var idx bytes.Buffer
	if _, err := idxfile.NewEncoder(&idx).Encode(x); err != nil {
		t.Fatal(err)
	}
	p, err := packOf(memory{bytes.NewReader(idx.Bytes())}, memory{bytes.NewReader(append(b, sum[:]...))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func packOf(idx, data File) (*pack, error) {
	x, err := openIndex(idx, &blocks{map[blockAt][]byte{}})
	return &pack{x, data, &bases{objects: map[baseAt]object{}}}, err
}

// allocated returns how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestHostilePacks(t *testing.T) {
	const limit, large = 1 << 20, 64 << 20
	ref := func(name, base byte, delta []byte) packed {
		return packed{id: id(name), kind: plumbing.REFDeltaObject, base: id(base), data: delta}
	}
	blob := func(name byte, size int) packed {
		return packed{id: id(name), kind: plumbing.BlobObject, data: make([]byte, size)}
	}
	var ladder []packed // each is as large as it may be, and made from the one below
	for i := range byte(200) {
		ladder = append(ladder, ref(i+1, i+2, delta(limit, limit)))
	}
	ladder = append(ladder, blob(201, limit))
	for name, c := range map[string]struct {
		objects []packed
		want    error
	}{
		"two made from each other":  {[]packed{ref(1, 2, delta(5, 1)), ref(2, 1, delta(5, 1))}, errDamaged},
		"one made from itself":      {[]packed{ref(1, 1, delta(5, 1))}, errDamaged},
		"no base":                   {[]packed{ref(1, 2, delta(5, 1))}, errDamaged},
		"a large base":              {[]packed{ref(1, 2, delta(large, 1)), blob(2, large)}, errLarge},
		"a large one":               {[]packed{blob(1, large)}, errLarge},
		"a large one of a delta":    {[]packed{ref(1, 2, delta(limit, large)), blob(2, limit)}, errLarge},
		"a large one in between":    {[]packed{ref(1, 2, delta(large, 1)), ref(2, 3, delta(limit, large)), blob(3, limit)}, errLarge},
		"many that are large":       {ladder, errLarge},
		"a size that is not there":  {[]packed{{id: id(1), kind: plumbing.BlobObject, data: []byte("x"), size: limit}}, errDamaged},
		"a base of another size":    {[]packed{ref(1, 2, delta(6, 1)), blob(2, 5)}, errDamaged},
		"more than the base has":    {[]packed{ref(1, 2, delta(5, 1)[:2]), blob(2, 5)}, errDamaged},
		"a delta that has no end":   {[]packed{ref(1, 2, []byte{5, 100, 0x90, 1}), blob(2, 5)}, errDamaged},
		"a delta of nothing":        {[]packed{ref(1, 2, []byte{5, 100, 0}), blob(2, 5)}, errDamaged},
		"a delta beyond its result": {[]packed{ref(1, 2, []byte{5, 2, 3, 'a', 'b', 'c'}), blob(2, 5)}, errDamaged},
		"an object of no kind":      {[]packed{{id: id(1), kind: 5}}, errDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePack(t, c.objects...)
			var err error
			if n := allocated(func() { _, err = p.read(id(1), limit) }); n > 2*maxChainSum*limit {
				t.Errorf("%d bytes were allocated", n)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}

func TestDeepChains(t *testing.T) {
	const n = maxChain
	objects := []packed{{kind: plumbing.BlobObject, data: []byte("content")}}
	for i := range n + 1 {
		binary.BigEndian.PutUint32(objects[i].id[:], uint32(i))
		objects = append(objects, packed{kind: plumbing.REFDeltaObject, base: objects[i].id, data: delta(7, 7)})
	}
	binary.BigEndian.PutUint32(objects[n+1].id[:], n+1)
	p := makePack(t, objects...)
	if _, err := p.read(objects[n+1].id, 1<<10); err != errDamaged {
		t.Error(err)
	}
	if obj, err := p.read(objects[n].id, 1<<10); err != nil || string(obj.data) != "content" {
		t.Errorf("%q, %v", obj.data, err)
	}
	if kind, err := p.kind(objects[n].id); kind != plumbing.BlobObject {
		t.Error(kind, err)
	}
}

// A sparse file of any size takes no room in the guest's database.
func TestHostileIndex(t *testing.T) {
	const n = 32 << 20
	head := append([]byte("\xfftOc\x00\x00\x00\x02"), make([]byte, 1024)...)
	for i := range 256 {
		binary.BigEndian.PutUint32(head[8+4*i:], n)
	}
	used := allocated(func() {
		x, err := openIndex(sparse{head, int64(len(head)) + n*28 + 40}, &blocks{map[blockAt][]byte{}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			x.has(id(byte(i)))
			x.find(ID{})
		}
	})
	if used > 1<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

// sparse is a file of zeros but for its head.
type sparse struct {
	head []byte
	size int64
}

func (s sparse) Size() int64  { return s.size }
func (s sparse) Close() error { return nil }
func (s sparse) ReadAt(b []byte, off int64) (int, error) {
	b = b[:min(int64(len(b)), s.size-off)]
	clear(b)
	if off < int64(len(s.head)) {
		copy(b, s.head[off:])
	}
	return len(b), nil
}

// TestPacksOfGit reads what git itself packs, with both versions of the index.
func TestPacksOfGit(t *testing.T) {
	dir := t.TempDir()
	git := func(input string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stderr, cmd.Stdin = dir, os.Stderr, strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(args, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	text, stream := "", ""
	for i := range 100 {
		text += strings.Repeat(string(rune('a'+i%26)), 100) + "\n"
		stream += fmt.Sprintf("commit refs/heads/x\ncommitter c <c> %d +0000\ndata 1\nc\nM 644 inline f\ndata %d\n%s\n", i, len(text), text)
	}
	git(stream+"tag t\nfrom refs/heads/x\ntagger t <t> 1 +0000\ndata 1\nt\n", "fast-import", "--quiet")
	for _, how := range []string{"--index-version=1", "--index-version=2", "--index-version=2,0x40"} {
		name := filepath.Join(dir, "pack"+how[2:])
		name += "-" + strings.TrimSpace(git("", "pack-objects", "-q", "--all", "--depth=60", "--no-reuse-delta", how, name))
		var files [2]File
		for i, end := range []string{".idx", ".pack"} {
			data, err := os.ReadFile(name + end)
			if err != nil {
				t.Fatal(err)
			}
			files[i] = memory{bytes.NewReader(data)}
		}
		p, err := packOf(files[0], files[1])
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for line := range strings.Lines(git("", "cat-file", "--batch-all-objects", "--batch-check")) {
			n++
			id, _ := parseID(line[:40])
			obj, err := p.read(id, 1<<20)
			if obj, err = checked(id, obj, err); err != nil {
				t.Fatal(how, line, err)
			}
			if kind, err := p.kind(id); kind != obj.kind || err != nil {
				t.Fatal(kind, err)
			}
		}
		if p.idx.count() != n {
			t.Errorf("%s: %d of %d", how, p.idx.count(), n)
		}
	}
}

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }
