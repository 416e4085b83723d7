package sqlvfs

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// at returns what is at a path of a tree, or nil.
func (n *node) at(path string) *node {
	for name := range strings.SplitSeq(path, "/") {
		if n = n.kids[name]; n == nil {
			return nil
		}
	}
	return n
}

// shape describes a tree without what is at a path, and without what going back for that changes around it.
func (n *node) shape(at, without string) string {
	if n == nil {
		return "nothing"
	}
	c := *n
	c.attr.Atime, c.attr.Ctime, c.kids, c.white = Timespec{}, Timespec{}, nil, nil
	if !n.isDir() || at == path.Dir("/"+without) {
		c.attr.Nlink, c.attr.Mtime = 0, Timespec{}
	}
	var b strings.Builder
	c.write(&b, "")
	for _, name := range slices.Sorted(maps.Keys(n.white)) {
		if at != "" && path.Join(at, name) != "/"+without {
			fmt.Fprintf(&b, "-%q\n", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.kids)) {
		if below := path.Join(at, name); below != "/"+without {
			fmt.Fprintf(&b, "%s: %s", name, n.kids[name].shape(below, without))
		}
	}
	return b.String()
}

// backInPart goes back for a path: there the tree is what it was, and elsewhere what it is. Or it cannot, and nothing changes.
func (j *journey) backInPart(to int64) error {
	s, before, then := j.actor.s, j.actor.root.copyOf(), j.trees[to]
	all := paths(before, then)
	if len(all) == 0 {
		return nil
	}
	at := all[j.actor.rnd.IntN(len(all))]
	done, err := s.GoBack(Part(fmt.Sprint(to), []string{at}), nil)
	after, rerr := readTree(s)
	j.note("back to %d for %s as %d: %v", to, at, done.ID, err)
	switch {
	case rerr != nil:
		return rerr
	case errors.Is(err, ErrMoved) || errors.Is(err, ErrParent) || errors.Is(err, ErrNotThere):
		if after.String() != before.String() {
			return fmt.Errorf("it has refused, and the tree is\n%snot\n%s", after, before)
		}
		return nil
	case err != nil:
		return err
	case after.at(at).shape("x", "") != then.at(at).shape("x", ""):
		return fmt.Errorf("at %s it is\n%snot\n%s", at, after.at(at).shape("x", ""), then.at(at).shape("x", ""))
	case after.shape("/", at) != before.shape("/", at):
		return fmt.Errorf("beside %s it is\n%snot\n%s", at, after.shape("/", at), before.shape("/", at))
	}
	j.actor.root = after
	if done.ID == to {
		return nil
	}
	j.trees[done.ID] = after.copyOf()
	if j.trees[done.ID-1] == nil && done.Redo == done.ID-1 {
		j.trees[done.ID-1] = before
	}
	if j.actor.rnd.IntN(2) == 0 {
		return nil
	}
	back := Undo
	if j.actor.rnd.IntN(2) == 0 {
		back = Redo
	}
	undone, err := s.GoBack(back, nil)
	if err != nil {
		return err
	}
	again, err := readTree(s)
	if err == nil && again.String() != before.String() {
		err = fmt.Errorf("what it was before is\n%snot\n%s", again, before)
	}
	j.actor.root, j.trees[undone.ID] = again, before
	return err
}

// paths are all paths in some trees.
func paths(roots ...*node) (list []string) {
	var walk func(n *node, at string)
	walk = func(n *node, at string) {
		for _, name := range slices.Sorted(maps.Keys(n.kids)) {
			list = append(list, path.Join(at, name))
			walk(n.kids[name], path.Join(at, name))
		}
	}
	for _, root := range roots {
		walk(root, "")
	}
	return list
}

// Directories that are deeper than any path are no damage, and go back with all else.
func TestGoingBackDeep(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	_, err := s.Checkpoint(ByUser, "one")
	must(t, err)
	name := strings.Repeat("n", NameMax)
	step(s, func(tx *Tx) {
		above, at := tx.Root(), "deep"
		for range deepest/NameMax + 2 {
			dir, err := tx.New(Attr{Mode: syscall.S_IFDIR | 0o700, Nlink: 2})
			must(t, err)
			must(t, tx.Link(above, at, dir))
			if above != tx.Root() {
				tx.Put(above)
			}
			above, at = dir, name
		}
		tx.Put(above)
	})
	_, err = s.GoBack(Part("one", []string{"deep"}), nil)
	if want := "checkpoint 1: deep: " + ErrDeep.Error(); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	_, err = s.GoBack(To("one"), nil)
	must(t, err)
	step(s, func(tx *Tx) {
		if _, ok, _, err := tx.Child(tx.Root(), "deep"); ok || err != nil {
			t.Errorf("it is there: %v, %v", ok, err)
		}
	})
}

// What cannot go back alone is refused by name.
func TestGoingBackInPartIsRefused(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	dir := create(t, s, "dir", syscall.S_IFDIR|0o700)
	file := create(t, s, "file", syscall.S_IFREG|0o600)
	_, err := s.Checkpoint(ByUser, "one")
	must(t, err)
	step(s, func(tx *Tx) {
		must(t, tx.Link(tx.Root(), "second", file))
		file.Attr.Nlink, file.Attr.Mode = 2, syscall.S_IFREG|0o644
		must(t, tx.Unlink(tx.Root(), "dir"))
		must(t, tx.Link(tx.Root(), "moved", dir))
		tx.Dirty(file)
		tx.Dirty(dir)
	})
	for at, want := range map[string]string{
		"dir":       "checkpoint 1: dir is moved now: go back for both",
		"moved":     "checkpoint 1: moved was dir then: go back for both",
		"file":      "checkpoint 1: file is second now: go back for both",
		"nowhere":   "checkpoint 1: nowhere: " + ErrNotThere.Error(),
		"file/x":    "checkpoint 1: file/x: " + ErrNotThere.Error(),
		"../file":   "checkpoint 1: ../file: " + ErrNotThere.Error(),
		"dir/x":     "checkpoint 1: dir/x: " + ErrNotThere.Error(),
		"moved/no/": "checkpoint 1: moved/no/: " + ErrNotThere.Error(),
	} {
		if _, err := s.GoBack(Part("one", []string{at}), nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", at, err, want)
		}
	}
	if _, err := s.GoBack(Part("one", []string{"dir", "moved", "file"}), nil); err != nil && !errors.Is(err, ErrMoved) {
		t.Error(err)
	}
	done, err := s.GoBack(Part("one", []string{"second", "file", "moved", "dir", "dir"}), nil)
	must(t, err)
	if done.Kind != AfterPart || done.Restored != 1 || done.Redo != 2 {
		t.Errorf("checkpoint %+v", done)
	}
	if file.Attr.Nlink != 1 || file.Attr.Mode != syscall.S_IFREG|0o600 {
		t.Errorf("the file is %+v", file.Attr)
	}
	if again, err := s.GoBack(Part("one", []string{"file", "dir"}), nil); err != nil || again.ID != 1 {
		t.Errorf("all is there, and it led to %+v, %v", again, err)
	}
	put(s, dir)
	put(s, file)
}
