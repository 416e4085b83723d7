package sqlvfs

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unlisted is a host whose directories cannot be listed.
type unlisted struct{ files }

func (h unlisted) Names(dir string) ([]string, error) {
	if dir == "d" {
		return nil, syscall.EIO
	}
	return h.files.Names(dir)
}

// What is lost in a directory that goes with all that is in it keeps the tree from going back, as anywhere else.
func TestCopiesLostInADirectory(t *testing.T) {
	large := make([]byte, mostCopied+1)
	for name, host := range map[string]HostTree{
		"large":       files{"d/e/large": large, "d/small": []byte("small")},
		"not listed":  unlisted{files{"d/small": []byte("small")}},
		"small alone": files{"d/e/large": []byte("no more"), "d/small": []byte("small")},
	} {
		for _, row := range []bool{false, true} { // of the directory
			path := filepath.Join(memoryDir(t), "a.db")
			s := openTest(t, path)
			if row {
				must(t, s.Update(func(tx *Tx) error {
					ws, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 3})
					must(t, err)
					defer tx.Put(ws)
					tx.SetOrigin(ws, &Origin{Base: "ws", Path: ".", Number: uint64(MaxIno)})
					must(t, tx.Link(tx.Root(), "ws", ws))
					d, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2})
					must(t, err)
					defer tx.Put(d)
					tx.SetOrigin(d, &Origin{Base: "ws", Path: "d", Number: uint64(MaxIno) + 1})
					return tx.Link(ws, "d", d)
				}))
			}
			checkpoint(t, s)
			must(t, keep(s, host, "d"))
			checkpoint(t, s)
			_, err := s.GoBack(To("1"), nil)
			if lost := name != "small alone"; errors.Is(err, ErrReplaced) != lost || !lost && err != nil {
				t.Errorf("%s, with a row %v: %v", name, row, err)
			}
			must(t, s.Close())
			must(t, checkClean(path))
		}
	}
}

// linked is a host that has one file by two names.
type linked struct{ files }

func (h linked) Describe(path string) (*HostObject, error) {
	o, err := h.files.Describe(path)
	if err == nil && o.IsRegular() {
		o.Nlink, o.Fingerprint.Ino = 2, 77
	}
	return o, err
}

func (h linked) Content(path string) (HostContent, error) {
	o, err := h.Describe(path)
	if err != nil {
		return nil, err
	}
	return openContent{strings.NewReader(string(h.files[path])), o.Fingerprint}, nil
}

// A file of two names comes back as one.
func TestCopiesKeepLinks(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	host := linked{files{"f": []byte("one"), "d/g": []byte("one")}}
	checkpoint(t, s)
	must(t, keep(s, host, "f", "d"))
	checkpoint(t, s)
	_, err := s.GoBack(To("1"), nil)
	must(t, err)
	ws := lookup(t, s, "ws")
	f := ask(t, s, func(tx *Tx) (Child, error) {
		c, _, _, err := tx.Child(ws, "f")
		return c, err
	})
	g := ask(t, s, func(tx *Tx) (Child, error) {
		c, _, _, err := tx.Child(ws, "d")
		must(t, err)
		d, err := tx.Get(c.Ino)
		must(t, err)
		defer tx.Put(d)
		c, _, _, err = tx.Child(d, "g")
		return c, err
	})
	in := ask(t, s, func(tx *Tx) (*Inode, error) { return tx.Get(f.Ino) })
	if f.Ino != g.Ino || in.Attr.Nlink != 2 {
		t.Errorf("f is inode %d, of %d names, and g is %d", f.Ino, in.Attr.Nlink, g.Ino)
	}
	put(s, in)
	put(s, ws)
	must(t, s.Close())
	must(t, checkClean(path))
}
