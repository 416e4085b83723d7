package replica

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/sqlvfs"
)

// copyMade is a copy that tests make.
type copyMade struct {
	t   *testing.T
	dir string
}

// newCopy makes one with a head that names generations.
func newCopy(t *testing.T, generations ...string) *copyMade {
	t.Helper()
	h := Head{Format: headFormat, ID: "a", Place: "p"}
	for _, id := range generations {
		h.Generations = append(h.Generations, Generation{ID: id})
	}
	c := &copyMade{t, t.TempDir()}
	must(t, os.WriteFile(filepath.Join(c.dir, "art-1.json"), h.marshal(), 0o600))
	return c
}

const testPage = 4096

// version is what a page holds in a version. It says so, and is as long in a file as in memory.
func version(number uint32, n byte) []byte {
	page := bytes.Repeat([]byte{n}, testPage)
	binary.BigEndian.PutUint32(page, number)
	return page
}

// path is that of a file of a generation.
func (c *copyMade) path(generation string, level int, from, to ltx.TXID) string {
	return file.NewReplicaClient(filepath.Join(c.dir, Generation{ID: generation}.dir())).LTXFilePath(level, from, to)
}

// put adds a file of a generation that has pages in their order, of a database with so many.
func (c *copyMade) put(generation string, level int, from, to ltx.TXID, commit, pageSize uint32, numbers []uint32, page func(uint32) []byte) {
	c.t.Helper()
	path := c.path(generation, level, from, to)
	must(c.t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.Create(path)
	must(c.t, err)
	defer f.Close()
	e, err := ltx.NewEncoder(f)
	must(c.t, err)
	must(c.t, e.EncodeHeader(ltx.Header{Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: pageSize, Commit: commit, MinTXID: from, MaxTXID: to}))
	for _, n := range numbers {
		must(c.t, e.EncodePage(ltx.PageHeader{Pgno: n}, page(n)))
	}
	must(c.t, e.Close())
}

// add is put of pages in one version.
func (c *copyMade) add(generation string, level int, from, to ltx.TXID, commit uint32, n byte, numbers ...uint32) {
	c.t.Helper()
	c.put(generation, level, from, to, commit, testPage, numbers, func(number uint32) []byte { return version(number, n) })
}

func (c *copyMade) remove(generation string, level int, from, to ltx.TXID) {
	c.t.Helper()
	must(c.t, os.Remove(c.path(generation, level, from, to)))
}

// pages begins to read it.
func (c *copyMade) pages() (*Pages, error) {
	c.t.Helper()
	found, err := Find(c.t.Context(), "file://"+c.dir)
	must(c.t, err)
	return found.Pages(c.t.Context())
}

// shows makes sure which version of each page is read.
func (c *copyMade) shows(p *Pages, versions ...byte) {
	c.t.Helper()
	if size, n := p.Size(); size != testPage || int(n) != len(versions) {
		c.t.Errorf("there are %d pages of %d bytes, and not %d", n, size, len(versions))
	}
	for i, want := range versions {
		number := uint32(i + 1)
		if page, err := p.Read(c.t.Context(), number); err != nil || !bytes.Equal(page, version(number, want)) {
			c.t.Errorf("page %d is not in version %d: %v", number, want, err)
		}
	}
	if _, err := p.Read(c.t.Context(), uint32(len(versions)+1)); !errors.Is(err, errCopyDamaged) {
		c.t.Errorf("there is one more page: %v", err)
	}
}

// Of each page, the newest version counts, in whatever files of the newest generation that has something.
func TestPages(t *testing.T) {
	c := newCopy(t, "old", "now", "begun")
	c.add("old", 0, 1, 1, 2, 99, 1, 2)
	c.add("now", 0, 1, 1, 4, 1, 1, 2, 3, 4)
	c.add("now", 0, 2, 2, 6, 2, 3, 5, 6)
	c.add("now", 0, 3, 3, 6, 3, 5)
	c.add("now", 1, 2, 3, 6, 23, 3, 5, 6) // the same once more, as Litestream merges it
	p, err := c.pages()
	must(t, err)
	c.shows(p, 1, 1, 23, 1, 23, 23)

	// A database that has become shorter, and longer again, has nothing of before.
	c.add("now", 0, 4, 4, 2, 4, 1)
	p, err = c.pages()
	must(t, err)
	c.shows(p, 4, 1)
	c.add("now", 0, 5, 5, 4, 5, 3, 4)
	p, err = c.pages()
	must(t, err)
	c.shows(p, 4, 1, 5, 5)

	if _, err := newCopy(t).pages(); err == nil || !strings.Contains(err.Error(), "nothing was copied there yet") {
		t.Errorf("what has no generation: %v", err)
	}
}

// What is read stays as it was when the reading began, while a session goes on and files are merged, or there is an error.
func TestPagesWhileCopied(t *testing.T) {
	c := newCopy(t, "g")
	c.add("g", 0, 1, 1, 3, 1, 1, 2, 3)
	c.add("g", 0, 2, 2, 3, 2, 2)
	c.add("g", 0, 3, 3, 3, 3, 3)
	p, err := c.pages()
	must(t, err)
	c.add("g", 0, 4, 4, 4, 4, 1, 4)
	c.shows(p, 1, 2, 3)

	c.add("g", 1, 1, 3, 3, 13, 1, 2, 3)
	for n := ltx.TXID(1); n <= 3; n++ {
		c.remove("g", 0, n, n)
	}
	p.parts.kept.Purge()
	c.shows(p, 13, 13, 13)

	c.add("g", 2, 1, 4, 4, 14, 1, 2, 3, 4)
	c.remove("g", 1, 1, 3)
	p.parts.kept.Purge()
	if _, err := p.Read(t.Context(), 1); !errors.Is(err, errMovedOn) {
		t.Errorf("a state that is gone: %v", err)
	}
}

// index is one of LTX: entries, and how long they say that they are.
func index(size int, entries ...uint64) []byte {
	var b []byte
	for _, e := range entries {
		b = binary.AppendUvarint(b, e)
	}
	if size < 0 {
		size = len(b)
	}
	return append(binary.BigEndian.AppendUint64(b, uint64(size)), make([]byte, ltx.TrailerSize)...)
}

// Whatever a place has, it is an error, and takes neither much memory nor much time.
func TestDamagedPages(t *testing.T) {
	const huge = 1 << 40
	for what, c := range map[string]struct {
		cut   int    // how much of the file stays, with the pages
		index []byte // behind that; nil: as it was
		at    int    // bytes that are changed there
		put   []byte
		opens bool // only reading a page fails
	}{
		"nothing":                    {cut: -1},
		"only a header":              {cut: ltx.HeaderSize},
		"no index":                   {cut: 300},
		"an index without an end":    {cut: 8000, index: index(-1, 1, 100, 50)},
		"one that is longer":         {cut: 8000, index: index(9000, 1, 100, 50, 0)},
		"one that is very long":      {cut: 8000, index: index(huge, 1, 100, 50, 0)},
		"one of no length":           {cut: 8000, index: index(0, 1, 100, 50, 0)},
		"an empty one":               {cut: 8000, index: index(-1, 0)},
		"a page that is far":         {cut: 8000, index: index(-1, 1<<23, 100, 50, 0)},
		"a page beyond all":          {cut: 8000, index: index(-1, 1<<33, 100, 50, 0)},
		"one page twice":             {cut: 8000, index: index(-1, 1, 100, 50, 1, 100, 50, 0)},
		"not in order":               {cut: 8000, index: index(-1, 1, 100, 50, 2, 150, 50, 1, 200, 50, 0)},
		"an offset before the pages": {cut: 8000, index: index(-1, 1, 10, 50, 0)},
		"an offset behind them":      {cut: 8000, index: index(-1, 1, 9000, 50, 0)},
		"a very high one":            {cut: 8000, index: index(-1, 1, 1<<63, 50, 0)},
		"a length beyond the pages":  {cut: 8000, index: index(-1, 1, 7990, 50, 0)},
		"a length that overflows":    {cut: 8000, index: index(-1, 1, 100, 1<<64-50, 0)},
		"a number that is too long":  {cut: 8000, index: append(bytes.Repeat([]byte{0xff}, 11), index(12, 0)...)},
		"no length":                  {cut: 8000, index: index(-1, 1, 100, 0, 2, 100, 50, 0)},
		"another beginning":          {put: []byte("XXXX")},
		"more pages than there are":  {at: 12, put: []byte{0xff, 0xff, 0xff, 0xff}},
		"no pages":                   {at: 12, put: []byte{0, 0, 0, 0}},
		"another length of pages":    {at: 8, put: []byte{0, 0, 0x20, 0}, opens: true},
		"a length that is none":      {at: 8, put: []byte{0, 0, 0x20, 1}},
		"another page":               {at: ltx.HeaderSize, put: []byte{0, 0, 0, 2}, opens: true},
		"no page":                    {at: ltx.HeaderSize, put: make([]byte, 6), opens: true},
		"a page that cannot be":      {at: ltx.HeaderSize + 6, put: []byte{0xff, 0xff, 0xff, 0xff}, opens: true},
		"what is not compressed":     {at: ltx.HeaderSize + 10, put: bytes.Repeat([]byte{0xff}, 30), opens: true},
	} {
		made := newCopy(t, "g")
		made.put("g", 0, 1, 1, 3, testPage, []uint32{1, 2, 3}, func(uint32) []byte {
			page := make([]byte, testPage)
			_, _ = rand.Read(page)
			return page
		})
		path := made.path("g", 0, 1, 1)
		data, err := os.ReadFile(path)
		must(t, err)
		switch {
		case c.cut != 0:
			data = append(data[:max(c.cut, 0):max(c.cut, 0)], c.index...)
		default:
			copy(data[c.at:], c.put)
		}
		must(t, os.WriteFile(path, data, 0o600))
		p, err := made.pages()
		if c.opens {
			must(t, err)
			_, err = p.Read(t.Context(), 1)
		}
		if !errors.Is(err, errCopyDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// asFile is what SQLite reads.
type asFile struct {
	t *testing.T
	*Pages
}

func (f asFile) Size() (int64, error) {
	size, n := f.Pages.Size()
	return int64(size) * int64(n), nil
}

func (f asFile) ReadAt(data []byte, off int64) (n int, err error) {
	for n < len(data) {
		at := off + int64(n)
		page, err := f.Read(f.t.Context(), uint32(at/int64(f.pageSize)+1))
		if err != nil {
			return n, err
		}
		n += copy(data[n:], page[at%int64(f.pageSize):])
	}
	return n, nil
}

// Of a large database, little is fetched to see a directory and a small file of it, and all to see all.
func TestLittleIsFetched(t *testing.T) {
	size := 210 << 20
	if testing.Short() {
		size = 40 << 20
	}
	database := filepath.Join(t.TempDir(), "a.db")
	s, err := sqlvfs.Open(database, sqlvfs.Options{Create: true, Root: sqlvfs.NewRoot()})
	must(t, err)
	add := func(name string) (in *sqlvfs.Inode) {
		must(t, s.Update(func(tx *sqlvfs.Tx) (err error) {
			if in, err = tx.New(sqlvfs.Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1}); err != nil {
				return err
			}
			return tx.Link(tx.Root(), name, in)
		}))
		return in
	}
	put := func(tx *sqlvfs.Tx, list []*sqlvfs.Inode) {
		for _, in := range list {
			tx.Put(in)
		}
	}
	var all []*sqlvfs.Inode
	for i := range 200 {
		in := add(fmt.Sprintf("f%d", i))
		must(t, s.WriteAt(in, []byte("small"), 0, nil, sqlvfs.Now()))
		all = append(all, in)
	}
	big := add("big")
	part := make([]byte, 1<<20)
	for off := 0; off < size; off += len(part) {
		_, _ = rand.Read(part)
		must(t, s.WriteAt(big, part, int64(off), nil, sqlvfs.Now()))
	}
	must(t, s.View(func(tx *sqlvfs.Tx) error {
		put(tx, append(all, big))
		return nil
	}))
	must(t, s.Close())

	made := newCopy(t, "g")
	f, err := os.Open(database)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	const pageSize = 16 << 10
	numbers := make([]uint32, info.Size()/pageSize)
	for i := range numbers {
		numbers[i] = uint32(i + 1)
	}
	page := make([]byte, pageSize)
	read := func(n uint32) []byte {
		_, err := f.ReadAt(page, int64(n-1)*pageSize)
		must(t, err)
		return page
	}
	made.put("g", litestream.SnapshotLevel, 1, 1, uint32(len(numbers)), pageSize, numbers, read)
	for n := ltx.TXID(2); n < 20; n++ {
		made.put("g", 0, n, n, uint32(len(numbers)), pageSize, numbers[:3*n], read)
	}

	p, err := made.pages()
	must(t, err)
	forget, err := sqlvfs.Remote("file://x/y?z", asFile{t, p})
	must(t, err)
	defer forget()
	r, err := sqlvfs.Open("file://x/y?z", sqlvfs.Options{ReadOnly: true})
	must(t, err)
	defer r.Close()
	at := func(name string, whole int64) {
		t.Helper()
		var in *sqlvfs.Inode
		must(t, r.View(func(tx *sqlvfs.Tx) error {
			names, err := tx.Children(tx.Root())
			if err != nil || len(names) != 201 {
				return fmt.Errorf("%d names, %w", len(names), err)
			}
			child, _, _, err := tx.Child(tx.Root(), name)
			if err == nil {
				in, err = tx.Get(child.Ino)
			}
			return err
		}))
		got := int64(0)
		for buf := make([]byte, 1<<20); got < whole; {
			n, err := r.ReadAt(in, buf, got, nil)
			if got += int64(n); err != nil && !errors.Is(err, io.EOF) || n == 0 {
				t.Fatalf("after %d bytes: %v", got, err)
			}
		}
		must(t, r.View(func(tx *sqlvfs.Tx) error {
			tx.Put(in)
			return nil
		}))
	}
	at("f7", 5)
	took, requests := p.Fetched()
	t.Logf("%d bytes in %d requests, of %d", took, requests, info.Size())
	if took > 1<<20 || requests > 60 {
		t.Errorf("a small file took %d bytes in %d requests", took, requests)
	}
	at("big", int64(size))
	took, requests = p.Fetched()
	t.Logf("%d bytes in %d requests for all", took, requests)
	if took < uint64(size) || took > uint64(info.Size())+uint64(info.Size())/10 || requests > uint64(size>>20)*3 {
		t.Errorf("all took %d bytes of %d in %d requests", took, info.Size(), requests)
	}
}
