package git

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// files is a guest's git directory, of which nothing is the host's.
type files map[string][]byte

func (g files) List(dir string) (l Listing, err error) {
	for name := range g {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok && !strings.Contains(rest, "/") {
			l.Own = append(l.Own, Entry{Name: rest})
		}
	}
	return l, nil
}

func (g files) Open(at string) (File, error) {
	data, ok := g[at]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memory{bytes.NewReader(data)}, nil
}

func (g files) Same(string) (host, guest bool) { return true, false }
func (g files) Changed(string) time.Time       { return time.Time{} }
func (g files) Since(string) (time.Time, bool) { return time.Time{}, false }
func (g files) Brought(string) []byte          { return nil }

// add adds an object.
func (g files) add(kind plumbing.ObjectType, data []byte) ID {
	id := plumbing.ComputeHash(kind, data)
	g["objects/"+loosePath(id)] = deflated(fmt.Appendf(nil, "%s %d\x00%s", kind, len(data), data))
	return id
}

// tree adds a tree of entries that have these names and are one object.
func (g files) tree(mode filemode.FileMode, id ID, names ...string) ID {
	var data []byte
	for _, name := range names {
		data = fmt.Appendf(data, "%o %s\x00%s", uint32(mode), name, id[:])
	}
	return g.add(plumbing.TreeObject, data)
}

func (g files) objects(t *testing.T) *objects {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	h, err := newHost(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := newObjects(h, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.close)
	return o
}

// A few trees can stand for more files than any disk has.
func TestTreesThatUnfold(t *testing.T) {
	g := files{}
	id := g.tree(filemode.Regular, g.add(plumbing.BlobObject, nil), "a", "b")
	for range 100 {
		id = g.tree(filemode.Dir, id, "a", "b")
	}
	o := g.objects(t)
	left := 1 << 20
	if err := o.flatten(id, "", map[string]treeEntry{}, &left); !errors.Is(err, errLarge) {
		t.Error(err)
	}
	c := o.newClosure(t.Context())
	if err := c.add(id, plumbing.TreeObject); err != nil || len(c.want) != 102 {
		t.Error(len(c.want), err)
	}
}

// What is missing is found before anything is remembered of a tree that names a million others.
func TestTreesOfWhatIsMissing(t *testing.T) {
	g := files{}
	names := make([]string, 100_000)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	wide := g.tree(filemode.Dir, id(1), names...)
	c := g.objects(t).newClosure(t.Context())
	if err := c.add(wide, plumbing.TreeObject); !errors.Is(err, errMissing) || len(c.done) != 0 || len(c.want) != 0 {
		t.Error(err, len(c.done), len(c.want))
	}
}

func TestReflogsTogether(t *testing.T) {
	line := strings.Repeat("1", 40) + " " + strings.Repeat("2", 40) + " a <b> 1 +0000\tx\n"
	l := newLogs(nil, files{"logs/refs/heads/a": []byte(line), "logs/refs/heads/b": []byte(line)})
	l.host = files{}.objects(t).host
	l.left = int64(len(line)) + 1
	if _, g, own := l.of("refs/heads/a"); len(g) != 1 || !own || l.cut {
		t.Error(g, own, l.cut)
	}
	if _, g, own := l.of("refs/heads/b"); len(g) != 0 || !own || !l.cut {
		t.Error(g, own, l.cut)
	}
}

// In version 4 of an index a name of thousands of bytes can take one.
func TestNamesOfAnIndex(t *testing.T) {
	const n = 30_000
	b := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x04"), n)
	entry := func(strip byte, name string) {
		e := make([]byte, statBytes+sha1.Size+2)
		binary.BigEndian.PutUint32(e[24:], uint32(filemode.Regular))
		b = append(append(append(append(b, e...), strip), name...), 0)
	}
	entry(0, strings.Repeat(strings.Repeat("d", 199)+"/", 20)+"000000")
	for i := 1; i < n; i++ {
		entry(6, fmt.Sprintf("%06d", i))
	}
	sum := sha1.Sum(b)
	if _, _, err := decodeIndex(append(b, sum[:]...)); err != errLarge {
		t.Error(err)
	}
}

func TestSubjects(t *testing.T) {
	c, err := parseCommit([]byte("tree " + strings.Repeat("1", 40) + "\n\n" + strings.Repeat("s", 1<<20)))
	if err != nil || len(c.subject) != maxSubject {
		t.Error(len(c.subject), err)
	}
}
