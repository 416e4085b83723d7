package sqlvfs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// merge merges a fork in which something has changed, whose own file is on no disk that loses power: content of files that both have, and
// of a new one. Torn, it takes two steps to do so, of which a cut may leave the first.
func (h *histories) merge(a *actor) error {
	dir, err := os.MkdirTemp(h.dir, "merge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fork, secret := filepath.Join(dir, "fork.db"), NewSecret()
	c, err := a.s.AddFork(fork, secret, "")
	if err != nil {
		return err
	}
	h.forks[string(secret)] = forked{c.ID, len(h.states) - 1}
	h.keep(c.ID, a.root)
	h.disk.mark(guaranteed, len(h.states)-1)
	if err := MakeFork(a.s.Path(), fork, secret, c); err != nil {
		return err
	}
	b, err := h.changed(fork, a)
	if err != nil {
		return err
	}
	theirs, err := OpenMoment(fork, "")
	if err != nil {
		return err
	}
	defer theirs.Close()
	h.disk.mark(began, len(h.states))
	taken := filesOf(b)
	content := func(tx *Tx) error { return takeContents(tx, theirs, filesOf(a.root), taken) }
	names := func(tx *Tx) error {
		if err := a.takeNew(tx, theirs, taken, c.maxIno); err != nil {
			return err
		}
		return tx.SetMerged(secret, Merged{Checkpoint: c.ID, Conflicts: []MergeConflict{{Path: "a/b"}}})
	}
	if h.torn {
		if err = a.s.Merge(content); err == nil {
			err = a.s.Merge(names)
		}
	} else {
		err = a.s.Merge(func(tx *Tx) error {
			if err := content(tx); err != nil {
				return err
			}
			return names(tx)
		})
	}
	if err != nil {
		return err
	}
	h.states = append(h.states, a.root.sum())
	h.disk.mark(guaranteed, len(h.states)-1)
	h.merges++
	return nil
}

// changed changes a fork, and returns its tree.
func (h *histories) changed(fork string, of *actor) (*node, error) {
	s, err := Open(fork, Options{})
	if err != nil {
		return nil, err
	}
	b := &actor{s: s, rnd: h.rnd, root: of.root.copyOf(), now: of.now}
	for range 15 {
		if err == nil {
			err = b.step()
		}
	}
	for _, in := range b.open {
		put(s, in)
	}
	of.now = b.now
	return b.root, errors.Join(err, s.Close())
}

// filesOf are the regular files of a tree, by their numbers.
func filesOf(root *node) map[Ino]*node {
	all := map[Ino]*node{}
	var walk func(n *node)
	walk = func(n *node) {
		if regular(n) {
			all[n.ino] = n
		}
		for _, kid := range n.kids {
			walk(kid)
		}
	}
	walk(root)
	return all
}

// takeContents gives files the content that they have in a fork.
func takeContents(tx *Tx, theirs *Moment, files, taken map[Ino]*node) error {
	for _, ino := range slices.Sorted(maps.Keys(files)) {
		is := taken[ino]
		if is == nil {
			continue
		}
		in, err := tx.Get(ino)
		if err != nil {
			return err
		}
		n, err := theirs.Node(ino)
		if err == nil && n == nil {
			err = fmt.Errorf("the fork does not have inode %d", ino)
		}
		if err == nil {
			err = tx.TakeContent(in, theirs, n)
		}
		tx.Put(in)
		if err != nil {
			return err
		}
		n0 := files[ino]
		n0.data, n0.attr.Size, n0.attr.Mtime = slices.Clone(is.data), is.attr.Size, is.attr.Mtime
	}
	return nil
}

// takeNew makes a file of one that the fork has made.
func (a *actor) takeNew(tx *Tx, theirs *Moment, taken map[Ino]*node, top Ino) error {
	for _, ino := range slices.Sorted(maps.Keys(taken)) {
		name := fmt.Sprintf("merged%d", a.now)
		if ino <= top || a.root.kids[name] != nil {
			continue
		}
		n, err := theirs.Node(ino)
		if err != nil {
			return err
		}
		made := &node{attr: Attr{Mode: syscall.S_IFREG | 0o600, Nlink: 1}, xattrs: map[string]string{}, data: slices.Clone(taken[ino].data)}
		in, err := tx.New(made.attr)
		if err != nil {
			return err
		}
		defer tx.Put(in)
		if err := tx.TakeContent(in, theirs, n); err != nil {
			return err
		}
		made.ino, made.attr = in.Ino, in.Attr
		a.root.kids[name] = made
		return tx.Link(tx.Root(), name, in)
	}
	return nil
}
