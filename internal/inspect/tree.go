package inspect

import (
	"bufio"
	"fmt"
	"io"

	"github.com/riverlytech/art/internal/sync/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// maxDepth bounds how deep a tree is drawn, in directories: beyond it, lines are all indentation.
const maxDepth = 1024

// drawing is what the lines of a tree begin with.
type drawing struct{ branch, last, bar, blank string }

var (
	boxes = drawing{"├── ", "└── ", "│   ", "    "}
	ascii = drawing{"|-- ", "`-- ", "|   ", "    "}
)

// Tree draws everything below a directory, with lines on a terminal and plain characters
// otherwise, and counts it. A directory that comes a second time is not entered again: Linux has
// no hard links to directories, so a database that has them would make an endless tree.
func Tree(w io.Writer, s *sqlvfs.Store, path string, opt Options) error {
	in, err := find(s, path, true, opt)
	if err != nil {
		return err
	}
	defer put(s, in)
	t := &treeWriter{out: bufio.NewWriter(w), store: s, opt: opt, draw: ascii, seen: map[sqlvfs.Ino]bool{in.Ino: true}}
	if opt.Terminal {
		t.draw = boxes
	}
	fmt.Fprintln(t.out, quote.Name(path, opt.Terminal))
	if in.Attr.IsDir() {
		if err := t.dir(in, "", 1); err != nil {
			return pathError(path, opt, err)
		}
		fmt.Fprintf(t.out, "\n%d directories, %d files\n", t.dirs, t.files)
	}
	return t.out.Flush()
}

type treeWriter struct {
	out         *bufio.Writer
	store       *sqlvfs.Store
	opt         Options
	draw        drawing
	seen        map[sqlvfs.Ino]bool
	dirs, files int
}

func (t *treeWriter) dir(in *sqlvfs.Inode, indent string, depth int) error {
	items, err := list(t.store, in)
	if err != nil {
		return err
	}
	for i, it := range items {
		branch, below := t.draw.branch, t.draw.bar
		if i == len(items)-1 {
			branch, below = t.draw.last, t.draw.blank
		}
		line := indent + branch + quote.Name(it.name, t.opt.Terminal)
		again := false
		switch {
		case it.attr.IsSymlink():
			line += " -> " + quote.Name(it.target, t.opt.Terminal)
			t.files++
		case it.attr.IsDir():
			if again = t.seen[it.ino]; again {
				line += "  [not entered: this directory has another place]"
			} else if depth == maxDepth {
				line, again = line+"  [not entered: too deep]", true
			}
			t.seen[it.ino] = true
			t.dirs++
		default:
			t.files++
		}
		if _, err := fmt.Fprintln(t.out, line); err != nil {
			return err
		}
		if it.attr.IsDir() && !again {
			if err := t.below(it.ino, indent+below, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *treeWriter) below(ino sqlvfs.Ino, indent string, depth int) error {
	t.store.Lock()
	in, err := t.store.Get(ino)
	t.store.Unlock()
	if err != nil {
		return err
	}
	defer put(t.store, in)
	return t.dir(in, indent, depth)
}
