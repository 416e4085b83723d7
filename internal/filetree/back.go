package filetree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// GoBack has a function have the tree go back. The host's files do not go with it: the tree shows them again as they were just
// before. The tree is served.
func (t *Tree) GoBack(back func() error) error {
	if len(t.files) == 0 {
		return back()
	}
	done := make(chan error, 1)
	select {
	case t.backs <- func() { done <- t.goBack(back) }:
		return <-done
	case <-t.ended:
		return errors.New("the session is about to end")
	}
}

func (t *Tree) goBack(back func() error) error {
	was := make([]state, len(t.files))
	content := make([][]byte, len(t.files))
	for i, f := range t.files {
		_, e, done, err := t.walk(f.Path)
		if now := stateOf(&e); err == nil && now.regular() && !f.Overlay {
			if content[i], err = t.read(e.Ino); err == nil {
				was[i] = now
			}
		}
		done()
	}
	if err := back(); err != nil {
		return err
	}
	for i, f := range t.files {
		if now, err := t.find(f.Path); was[i].ino == 0 || err == nil && now == was[i] {
			continue
		}
		agreed, same := f.agreed, f.agreed == was[i]
		mtime := unix.Timespec{Sec: was[i].mtime.Sec, Nsec: int64(was[i].mtime.Nsec)}
		err := t.put(f, content[i], &unix.Stat_t{Mode: was[i].mode, Mtim: mtime})
		if err != nil {
			t.logf("show the host's file at ~/%s: %v", f.Path, err)
		}
		if !same { // the host does not have it yet
			f.agreed = agreed
			t.touch()
		}
	}
	return nil
}
