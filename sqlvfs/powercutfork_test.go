package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// forked is a fork that a database was told of.
type forked struct {
	checkpoint int64
	step       int // after which its life was told; 0: an earlier life
}

// forkImage is a fork of a tree with content, whose parent is on no disk that loses power.
func (h *histories) forkImage() (image, error) {
	dir, err := os.MkdirTemp(h.dir, "parent")
	if err != nil {
		return nil, err
	}
	parent, fork := filepath.Join(dir, "parent.db"), filepath.Join(dir, "a.db")
	s, err := Open(parent, Options{Create: true, Root: rootAttr})
	if err != nil {
		return nil, err
	}
	a := &actor{s: s, rnd: h.rnd}
	if a.root, err = readTree(s); err != nil {
		return nil, err
	}
	secret := NewSecret()
	var c Checkpoint
	for i := range 150 {
		if err = a.step(); err == nil && i == 100 { // what comes after it the fork does not see
			c, err = s.AddFork(fork, secret, "")
		}
		if err != nil {
			return nil, err
		}
	}
	for _, in := range a.open {
		put(s, in)
	}
	if err = errors.Join(s.Close(), MakeFork(parent, fork, secret, c)); err != nil {
		return nil, err
	}
	img := image{}
	for _, name := range []string{"a.db", "a.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			img[name] = data
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return img, nil
}

// fork tells the database of a fork of one of its checkpoints, or has it forget one.
func (h *histories) fork(a *actor) error {
	if secrets := slices.Sorted(maps.Keys(h.forks)); len(secrets) > 0 && h.rnd.IntN(3) == 0 {
		secret := secrets[h.rnd.IntN(len(secrets))]
		delete(h.forks, secret) // it may come back
		err := a.s.DropFork([]byte(secret))
		if h.failing {
			return nil
		}
		return errors.Join(err, h.dropped(a)) // with the fork goes what was made for it alone
	}
	at := ""
	list, err := a.s.Checkpoints()
	if err == nil && len(list) > 0 && h.rnd.IntN(2) == 0 {
		at = fmt.Sprint(list[h.rnd.IntN(len(list))].ID)
	}
	secret := NewSecret()
	var c Checkpoint
	if err == nil {
		c, err = a.s.AddFork("/nowhere/fork.db", secret, at)
	}
	if err != nil {
		if h.failing {
			err = nil
		}
		return err
	}
	h.forks[string(secret)] = forked{c.ID, len(h.states) - 1}
	if at == "" {
		h.keep(c.ID, a.root)
	}
	h.disk.mark(guaranteed, len(h.states)-1)
	return nil
}

// forksLeft forgets the forks that a cut has taken, now that a life begins.
func (h *histories) forksLeft(s *Store) error {
	list, err := s.Forks()
	left := map[string]forked{}
	for _, f := range list {
		if _, known := h.forks[string(f.Secret)]; known {
			left[string(f.Secret)] = forked{checkpoint: f.Checkpoint}
		}
	}
	h.forks = left
	return err
}

// forksAre looks at the forks that a cut has left: those of which the database was told when a step was durable are known, and one made now
// shows what its checkpoint was. It returns the checkpoints that forks hold.
func (h *histories) forksAre(path string, durable int) (held map[int64]bool, err error) {
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	list, err := s.Forks()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	held = map[int64]bool{}
	for _, f := range list {
		held[f.Checkpoint] = true
	}
	for secret, f := range h.forks {
		is := slices.IndexFunc(list, func(k Fork) bool { return bytes.Equal(k.Secret, []byte(secret)) && k.Checkpoint == f.checkpoint })
		switch {
		case is < 0 && f.step < durable:
			return nil, fmt.Errorf("a fork of checkpoint %d was known before step %d was durable, and is not", f.checkpoint, durable)
		case is >= 0 && h.rnd.IntN(12) == 0:
			if err := h.forkShows(path, []byte(secret), f.checkpoint); err != nil {
				return nil, fmt.Errorf("fork of checkpoint %d: %w", f.checkpoint, err)
			}
		}
	}
	return held, nil
}

// forkShows makes a fork that a database knows, and compares what it shows.
func (h *histories) forkShows(path string, secret []byte, checkpoint int64) error {
	want := h.trees[checkpoint]
	if want == nil {
		return nil // of one that was made by itself
	}
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	c, err := Query(s, func(tx *Tx) (Checkpoint, error) { return findCheckpoint(tx.meta, fmt.Sprint(checkpoint)) })
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	fork := path + ".fork"
	defer os.Remove(fork)
	if err := MakeFork(path, fork, secret, c); err != nil {
		return err
	}
	if s, err = Open(fork, Options{ReadOnly: true}); err != nil {
		return err
	}
	got, err := readTree(s)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if got.String() != want.String() {
		return fmt.Errorf("the tree is\n%sand was\n%s", got, want)
	}
	return nil
}

// forgetForks has the database forget forks without being asked, and what it keeps for them.
func forgetForks(s *Store, rnd *rand.Rand) {
	list, err := s.Forks()
	if err == nil && len(list) > 0 {
		_ = s.DropFork(list[rnd.IntN(len(list))].Secret)
	}
}

// hideNothing has a fork show again what it has deleted.
func hideNothing(s *Store, _ *rand.Rand) {
	if s.stack.Forked() {
		_ = s.atWriter(func(w *writer) error { return w.Exec("DELETE FROM main.art_hidden") })
	}
}
