// Package inspect shows what a database holds, without a mount: ls, cat, stat and tree. It works
// on a store that was opened read-only, also while a session writes to it.
//
// Paths begin at the root of the database's tree, which is /home/agent in the sandbox. Symbolic
// links on the way are followed inside the tree, and never out of it.
package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Options say how to show things.
type Options struct {
	// Terminal: the output is one, so names are quoted for it and trees are drawn with lines.
	Terminal bool
	// JSON makes Ls, Stat and Tree print an object a line.
	JSON bool
	// Long makes Ls print attributes, one line an entry, as `ls -l` does.
	Long bool
	// Slash makes Ls print a slash after the name of a directory, as `ls -p` does.
	Slash bool
	// Base is the host directory of the workspace Name, which supplies content that the database
	// does not hold itself; "" for none.
	Base, Name string
}

const (
	// guestRoot is where the tree's root is in the sandbox: an absolute link begins with it.
	guestRoot = "/home/agent"
	// maxLinks is how many symbolic links one path may lead through, as on Linux
	// (path_resolution(7)).
	maxLinks = 40
)

var (
	errOutside = errors.New("it leads out of the tree")
	errNoEntry = errors.New("no such file or directory in the database")
)

// pathError names the path in the words of the caller's command line.
func pathError(path string, opt Options, err error) error {
	return fmt.Errorf("%s: %w", quote.Name(path, opt.Terminal), err)
}

// resolve returns the inode that a path stands for, held. A symbolic link at its end is followed
// if follow is set.
func resolve(tx *sqlvfs.Tx, path string, follow bool) (*sqlvfs.Inode, error) {
	trail := []sqlvfs.Ino{sqlvfs.RootIno} // the directories on the way, for ".."
	todo, links := split(path), 0
	for {
		in, err := tx.Get(trail[len(trail)-1])
		if err != nil {
			return nil, err
		}
		if in.Attr.IsSymlink() && (follow || len(todo) > 0) {
			target, err := tx.Target(in)
			tx.Put(in)
			if err != nil {
				return nil, err
			}
			if links++; links > maxLinks {
				return nil, syscall.ELOOP
			}
			trail = trail[:len(trail)-1]
			if strings.HasPrefix(target, "/") {
				rest, ok := strings.CutPrefix(target+"/", guestRoot+"/")
				if !ok {
					return nil, errOutside
				}
				target, trail = rest, trail[:1]
			}
			todo = append(split(target), todo...)
			continue
		}
		if len(todo) == 0 {
			return in, nil
		}
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			isDir := in.Attr.IsDir()
			tx.Put(in)
			if !isDir {
				return nil, syscall.ENOTDIR
			}
			if trail = trail[:len(trail)-1]; len(trail) == 0 {
				return nil, errOutside
			}
			continue
		}
		c, ok, _, err := tx.Child(in, name)
		tx.Put(in)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errNoEntry
		}
		trail = append(trail, c.Ino)
	}
}

// split returns the names that a path is made of.
func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// find is resolve with the lock and in the words of the command line.
func find(s *sqlvfs.Store, path string, follow bool, opt Options) (*sqlvfs.Inode, error) {
	in, err := sqlvfs.Query(s, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) { return resolve(tx, path, follow) })
	if err != nil {
		err = pathError(path, opt, err)
		if errors.Is(err, errNoEntry) && opt.Base == "" {
			err = cli.WithHint(err, "only what the database itself holds can be shown; what a session left as it was is on the host")
		}
		return nil, err
	}
	return in, nil
}

func put(s *sqlvfs.Store, in *sqlvfs.Inode) {
	s.View(func(tx *sqlvfs.Tx) error {
		tx.Put(in)
		return nil
	})
}

// item is an entry as it is shown.
type item struct {
	name, target string
	ino          sqlvfs.Ino
	number       uint64 // shown to programs
	attr         sqlvfs.Attr
}

// itemOf makes an item of an inode.
func itemOf(tx *sqlvfs.Tx, name string, in *sqlvfs.Inode) (item, error) {
	target, err := tx.Target(in)
	return item{name, target, in.Ino, in.Number(), in.Attr}, err
}

// single makes an item of an inode.
func single(s *sqlvfs.Store, name string, in *sqlvfs.Inode) (item, error) {
	return sqlvfs.Query(s, func(tx *sqlvfs.Tx) (item, error) { return itemOf(tx, name, in) })
}

// list returns a directory's entries, sorted by name. Of their attributes there is only the mode, unless all are asked for, of which each is
// read by itself.
func list(s *sqlvfs.Store, dir *sqlvfs.Inode, all bool) ([]item, error) {
	return sqlvfs.Query(s, func(tx *sqlvfs.Tx) (items []item, err error) {
		if all {
			return itemsOf(tx, dir)
		}
		children, err := tx.Children(dir)
		for _, c := range children {
			items = append(items, item{name: c.Name, attr: sqlvfs.Attr{Mode: c.Mode}})
		}
		sortItems(items)
		return items, err
	})
}

func sortItems(items []item) {
	slices.SortFunc(items, func(x, y item) int { return strings.Compare(x.name, y.name) })
}

func itemsOf(tx *sqlvfs.Tx, dir *sqlvfs.Inode) ([]item, error) {
	children, err := tx.Children(dir)
	if err != nil {
		return nil, err
	}
	items := make([]item, 0, len(children))
	for _, c := range children {
		in, err := tx.Get(c.Ino)
		if errors.Is(err, sqlvfs.ErrNotExist) {
			continue // deleted by a session since the directory was read
		}
		if err != nil {
			return nil, err
		}
		it, err := itemOf(tx, c.Name, in)
		tx.Put(in)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	sortItems(items)
	return items, nil
}
