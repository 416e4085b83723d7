package overview

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// unreadable begins what is said of a database that cannot be opened.
const unreadable = "cannot be looked into"

// unpulled says what would be lost with a database, or "".
func unpulled(ctx context.Context, dir, database string) string {
	e := look(database)
	if dir != "" {
		e.Workspace, e.Gone = dir, false
	}
	switch {
	case e.Error != "":
		return unreadable + " (" + e.Error + ")"
	case e.Workspace == "":
		return "does not say which workspace it is of"
	}
	tree, others, err := contents(database)
	if err != nil {
		return unreadable + " (" + err.Error() + ")"
	}
	lost := []string{lacks(ctx, e.Workspace, database)}
	real, _ := filepath.EvalSymlinks(e.Workspace)
	isWorkspace := map[string]bool{filepath.Base(e.Workspace): true}
	for _, w := range others {
		isWorkspace[w.Name] = true
		if sqlvfs.IsLayer(w.Name) {
			continue
		}
		if w.Path != e.Workspace && w.Path != real {
			lost = append(lost, lacks(ctx, w.Path, database))
		}
		if n := inside(tree, tree.Child(tree.Node(sqlvfs.RootIno), sqlvfs.TreeLayer(w.Name))); n.files > 0 {
			lost = append(lost, "has changes around "+w.Path+", which no pull brings: "+n.String())
		}
	}
	for _, l := range beside(tree, others) {
		lost = append(lost, "has changes in "+l.Path+", which no pull brings: "+l.String())
	}
	lost = append(lost, homeOf(tree, isWorkspace))
	var parts []string
	for _, what := range lost {
		if what != "" {
			parts = append(parts, what)
		}
	}
	return strings.Join(parts, "; it ")
}

// lacks says what a workspace lacks that is in a database.
func lacks(ctx context.Context, workspace, database string) string {
	if _, err := os.Stat(workspace); os.IsNotExist(err) {
		return "is of " + workspace + ", which is gone"
	}
	s := &status{Workspace: workspace, Database: database}
	if err := s.compare(ctx, &Options{Stderr: io.Discard}); err != nil {
		return "cannot be compared with " + workspace + " (" + err.Error() + ")"
	}
	if what := s.pending(); what != "" {
		return "has changes that " + workspace + " has not: " + what
	}
	return ""
}

// contents reads what a database holds, but for the content of files.
func contents(database string) (*sqlvfs.Snapshot, []sqlvfs.Workspace, error) {
	s, err := openDatabase(database)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	var tree *sqlvfs.Snapshot
	var list []sqlvfs.Workspace
	err = s.View(func(tx *sqlvfs.Tx) (err error) {
		if list, err = tx.Workspaces(); err == nil {
			tree, err = tx.Snapshot()
		}
		return err
	})
	return tree, list, err
}

// mounted is what a guest has changed in a mount of mode overlay.
type mounted struct {
	Path string // of the host
	amount
}

// beside returns the mounts of mode overlay in which a guest has changed something.
func beside(tree *sqlvfs.Snapshot, list []sqlvfs.Workspace) (changed []mounted) {
	for _, w := range list {
		if !sqlvfs.IsMountLayer(w.Name) {
			continue
		}
		if n := inside(tree, tree.Child(tree.Node(sqlvfs.RootIno), w.Name)); n.files > 0 {
			changed = append(changed, mounted{w.Path, n})
		}
	}
	return changed
}

// homeOf says what a guest has left in its home beside workspaces, which no pull brings.
func homeOf(tree *sqlvfs.Snapshot, isWorkspace map[string]bool) string {
	var names []string
	for _, e := range tree.Node(sqlvfs.RootIno).Children {
		if isWorkspace[e.Name] || sqlvfs.IsLayer(e.Name) {
			continue
		}
		n, text := tree.Node(e.Ino), cli.Printable(e.Name)
		switch {
		case n.Attr.IsDir():
			text += "/ (" + inside(tree, n).String() + ")"
		case n.Attr.IsRegular():
			text += " (" + cli.Bytes(n.Attr.Size) + ")"
		}
		names = append(names, text)
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > maxShown {
		names = append(names[:maxShown], fmt.Sprintf("and %d more", len(names)-maxShown))
	}
	return "has, in the home of its guest, " + strings.Join(names, ", ")
}

// amount is how much is in a directory.
type amount struct {
	files int
	size  int64
}

func (n amount) String() string {
	if n.files == 1 {
		return "1 file, " + cli.Bytes(n.size)
	}
	return fmt.Sprintf("%d files, %s", n.files, cli.Bytes(n.size))
}

// inside counts what is in a directory, each inode once, and what is removed from it.
func inside(tree *sqlvfs.Snapshot, dir *sqlvfs.Node) (n amount) {
	seen := map[sqlvfs.Ino]bool{}
	for todo := []*sqlvfs.Node{dir}; len(todo) > 0; {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if d == nil || seen[d.Ino] {
			continue
		}
		seen[d.Ino] = true
		if !d.Attr.IsDir() {
			n.files++
			n.size += d.Attr.Size
		}
		for _, name := range d.Whiteouts {
			if tree.Child(d, name) == nil {
				n.files++
			}
		}
		for _, e := range d.Children {
			todo = append(todo, tree.Node(e.Ino))
		}
	}
	return n
}
