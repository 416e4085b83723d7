package fsck

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

var (
	alter, alterInLog, bytesOf, dump = dbtest.Alter, dbtest.AlterInLog, dbtest.Bytes, dbtest.Dump
	sample, fixture, sdkDatabase     = dbtest.Sample, dbtest.Layout, dbtest.SDK
	fixtureTree, sdkTree             = dbtest.LayoutTree, dbtest.SDKTree
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openTest(t testing.TB, path string) *sqlvfs.Store {
	t.Helper()
	s, err := sqlvfs.Open(path, sqlvfs.Options{Create: true, Root: sqlvfs.Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2}})
	must(t, err)
	return s
}

// create makes a file with content in the root and returns it, referred to.
func create(t testing.TB, s *sqlvfs.Store, name string, content []byte) *sqlvfs.Inode {
	t.Helper()
	var in *sqlvfs.Inode
	must(t, s.Update(func(tx *sqlvfs.Tx) (err error) {
		if in, err = tx.New(sqlvfs.Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 1}); err == nil {
			err = tx.Link(tx.Root(), name, in)
		}
		return err
	}))
	must(t, s.WriteAt(in, content, 0, nil, sqlvfs.Now()))
	return in
}

// object is what a tree has under a name.
type object struct {
	*sqlvfs.Inode
	target    string
	whiteouts []string
	err       error // of its entries, or whiteouts
}

// walk calls see for each name of a tree, as far as that can be read. Where see returns false, it goes no deeper.
func walk(s *sqlvfs.Store, see func(path string, o object) bool) {
	var visit func(path string, ino sqlvfs.Ino)
	visit = func(path string, ino sqlvfs.Ino) {
		var o object
		var children []sqlvfs.Child
		err := s.View(func(tx *sqlvfs.Tx) (err error) {
			if o.Inode, err = tx.Get(ino); err != nil {
				return err
			}
			if o.Attr.IsSymlink() {
				o.target, o.err = tx.Target(o.Inode)
			}
			if o.Attr.IsDir() {
				if children, o.err = tx.Children(o.Inode); o.err == nil {
					o.whiteouts, o.err = tx.Whiteouts(o.Inode)
				}
			}
			return nil
		})
		if err != nil {
			return
		}
		defer s.View(func(tx *sqlvfs.Tx) error {
			tx.Put(o.Inode)
			return nil
		})
		if see(path, o) {
			for _, c := range children {
				visit(path+"/"+c.Name, c.Ino)
			}
		}
	}
	visit("", sqlvfs.RootIno)
}

type readerOf struct {
	s  *sqlvfs.Store
	in *sqlvfs.Inode
}

func (r readerOf) ReadAt(p []byte, off int64) (int, error) { return r.s.ReadAt(r.in, p, off, nil) }

// portrait is what of a tree must survive a repair: names, content, origins and whiteouts.
func portrait(t *testing.T, s *sqlvfs.Store) map[string]string {
	t.Helper()
	tree := map[string]string{}
	walk(s, func(path string, o object) bool {
		must(t, o.err)
		switch {
		case o.Origin != nil:
			tree[path] = strings.Join(append([]string{o.Origin.Path}, o.whiteouts...), " but ")
		case o.Attr.IsRegular():
			b, err := io.ReadAll(io.NewSectionReader(readerOf{s, o.Inode}, 0, 1<<40))
			must(t, err)
			tree[path] = string(b)
		case o.Attr.IsSymlink():
			tree[path] = "-> " + o.target
		}
		return true
	})
	return tree
}
