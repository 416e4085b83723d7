package sync

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostdir"
)

// finishDirs sets the directories' own attributes last, since each change below sets their times anew.
// Modes come last of all, innermost first, since a mode may close the way to what is below.
func (p *puller) finishDirs() {
	var list []*operation
	for _, a := range p.dirs {
		if a.left || a.do == mkdir && !a.done || a.do == keep && !a.touched && a.was != nil {
			continue
		}
		list = append(list, a)
	}
	together(list, func(a *operation) { a.err = p.finishDir(a) })
	for i := len(list) - 1; i >= 0; i-- {
		a := list[i]
		err := a.err
		if err == nil && a.do != keep && (a.is.Mode^a.attr.Mode)&modeBits != 0 {
			err = p.setDirMode(a)
		}
		if err != nil {
			p.fail(a.item, err)
		} else if a.do == chmodDir {
			a.done = true
		}
	}
}

// together calls a function for each action of a list, by as many goroutines as there are processors.
func together(list []*operation, do func(*operation)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				do(list[i])
			}
		})
	}
	all.Wait()
}

// finishDir gives a directory its owner and times, and notes what it is.
func (p *puller) finishDir(a *operation) error {
	f, err := p.host.open(a.path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := hostdir.Stat(f)
	if err != nil {
		return err
	}
	if a.do != keep {
		if _, err := p.setOwner(f, &st, a.item); err != nil {
			return err
		}
	}
	if timespec(st.Mtim) != a.attr.Mtime {
		if err := setTimes(f, &a.attr); err != nil {
			return err
		}
	}
	return a.note(f)
}

// setDirMode gives a directory its mode. A set-group-ID bit that the host's has stays: it says how the
// host's users share it.
func (p *puller) setDirMode(a *operation) error {
	f, err := p.host.open(a.path, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := hostdir.Chmod(f, a.attr.Mode&modeBits|a.is.Mode&^uint32(unix.S_IFMT|modeBits)); err != nil {
		return err
	}
	return a.note(f)
}

// note notes what is in an action's place.
func (a *operation) note(f *os.File) error {
	st, err := hostdir.Stat(f)
	if err == nil {
		a.is = &st
	}
	return err
}

// setOwner gives an open file, which is st, its owner, where root pulls. It tells whether it had another.
func (p *puller) setOwner(f *os.File, st *unix.Stat_t, a *item) (changed bool, err error) {
	if !p.asRoot || st.Uid == a.attr.UID && st.Gid == a.attr.GID {
		return false, nil
	}
	return true, unix.Fchownat(int(f.Fd()), "", int(a.attr.UID), int(a.attr.GID), unix.AT_EMPTY_PATH)
}
