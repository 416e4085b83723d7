package inspect

import (
	"bufio"
	"fmt"
	"io"
	"path"

	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// maxDepth bounds how deep a tree is shown, in directories: beyond it, drawn lines are all
// indentation.
const maxDepth = 1024

// Tree shows everything below a directory: as objects, or drawn with lines on a terminal and plain
// characters otherwise, and counted. A directory that comes a second time is not entered again:
// Linux has no hard links to directories, so a database that has them would make an endless tree.
func Tree(w io.Writer, s *sqlvfs.Store, name string, opt Options) error {
	in, err := find(s, name, true, opt)
	if err != nil {
		return err
	}
	defer put(s, in)
	out := bufio.NewWriter(w)
	tree := &walk{store: s, seen: map[sqlvfs.Ino]bool{in.Ino: true}}
	switch {
	case opt.JSON && in.Attr.IsDir():
		tree.show = objects(out)
		err = tree.dir(in, name, 1)
	case opt.JSON:
		var top item
		if top, err = single(s, name, in); err == nil {
			err = printJSON(out, top.object(""))
		}
	default:
		fmt.Fprintln(out, quote.Name(name, opt.Terminal))
		if !in.Attr.IsDir() {
			break
		}
		draw := &drawing{out: out, terminal: opt.Terminal}
		tree.show = draw.entry
		if err = tree.dir(in, "", 1); err == nil {
			fmt.Fprintf(out, "\n%d directories, %d files\n", draw.dirs, draw.files)
		}
	}
	if err != nil {
		return pathError(name, opt, err)
	}
	return out.Flush()
}

// walk goes through everything below a directory.
type walk struct {
	store *sqlvfs.Store
	seen  map[sqlvfs.Ino]bool
	// show prints an entry, the last of its directory or not, and why it is not entered, if so. It
	// is given what it returned for the entry's directory.
	show func(it *item, above string, last bool, notEntered string) (string, error)
}

func (t *walk) dir(in *sqlvfs.Inode, above string, depth int) error {
	items, err := list(t.store, in, true)
	if err != nil {
		return err
	}
	for i, it := range items {
		notEntered := ""
		if it.attr.IsDir() {
			if t.seen[it.ino] {
				notEntered = "this directory has another place"
			} else if depth == maxDepth {
				notEntered = "too deep"
			}
			t.seen[it.ino] = true
		}
		here, err := t.show(&it, above, i == len(items)-1, notEntered)
		if err != nil {
			return err
		}
		if it.attr.IsDir() && notEntered == "" {
			if err := t.below(it.ino, here, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *walk) below(ino sqlvfs.Ino, above string, depth int) error {
	in, err := sqlvfs.Query(t.store, func(tx *sqlvfs.Tx) (*sqlvfs.Inode, error) { return tx.Get(ino) })
	if err != nil {
		return err
	}
	defer put(t.store, in)
	return t.dir(in, above, depth)
}

// objects shows entries as JSON.
func objects(w io.Writer) func(*item, string, bool, string) (string, error) {
	return func(it *item, dir string, _ bool, notEntered string) (string, error) {
		o := it.object(dir)
		o.NotEntered = notEntered
		return path.Join(dir, it.name), printJSON(w, o)
	}
}

// drawing shows entries as a picture, and counts them.
type drawing struct {
	out         io.Writer
	terminal    bool
	dirs, files int
}

func (d *drawing) entry(it *item, indent string, last bool, notEntered string) (string, error) {
	branch, bar := "|-- ", "|   "
	switch {
	case d.terminal && last:
		branch, bar = "└── ", "    "
	case d.terminal:
		branch, bar = "├── ", "│   "
	case last:
		branch, bar = "`-- ", "    "
	}
	line := indent + branch + quote.Name(it.name, d.terminal)
	if it.attr.IsSymlink() {
		line += " -> " + quote.Name(it.target, d.terminal)
	}
	if notEntered != "" {
		line += "  [not entered: " + notEntered + "]"
	}
	if it.attr.IsDir() {
		d.dirs++
	} else {
		d.files++
	}
	_, err := fmt.Fprintln(d.out, line)
	return indent + bar, err
}
