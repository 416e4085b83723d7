package reconcile

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// execute carries out all operations: those that others depend on first. What is about to be done is written
// to the journal before, so that the next push or pull finds what the guest has should this one be killed.
func (p *puller) execute() error {
	order := p.inOrder()
	if err := p.announceNames(order); err != nil {
		return err
	}
	if err := p.keepForCheckpoints(); err != nil {
		return err
	}
	if err := p.writeJournal(order); err != nil {
		return err
	}
	if err := p.prepareSession(); err != nil {
		return err
	}
	p.carryOut(order)
	if !p.journaled {
		p.endStaging()
	}
	p.finishDirs()
	if p.staging != nil { // until it is written down that nothing in it is needed any more
		p.staging.KeepTimes()
	}
	for _, o := range p.ops {
		if o.done {
			p.print(o)
		}
	}
	return nil
}

// inOrder returns the operations in the order of their dependencies: a directory before what is in it, what
// is in a directory before its removal, and that before what takes its place. What a file's content comes
// from goes after the file is in its place; where these make a circle, as when two files were swapped, any
// order does: all content is staged.
func (p *puller) inOrder() (order []*operation) {
	users := map[string][]*operation{} // by the path that their content comes from
	for _, o := range p.ops {
		if o.source != "" && o.source != o.path {
			users[o.source] = append(users[o.source], o)
		}
		if in := o.in; in != nil && in.op != nil {
			switch {
			case in.op.do == mkdir:
				o.after = append(o.after, in.op)
			case o.do == remove && in.op.do == remove:
				in.op.after = append(in.op.after, o)
			}
		}
		if r := o.instead; r != nil && r.op != nil {
			o.after = append(o.after, r.op)
		}
	}
	var visit func(o *operation)
	visit = func(o *operation) {
		if o.turn != untouched {
			return
		}
		o.turn = waiting
		for _, first := range o.after {
			visit(first)
		}
		if o.replaces() {
			for _, user := range users[o.path] {
				if !user.waits() {
					visit(user)
				}
			}
		}
		o.turn = queued
		order = append(order, o)
	}
	for _, o := range p.ops {
		visit(o)
	}
	return order
}

// turn is how far the ordering of operations has come with one.
type turn int

const (
	untouched turn = iota
	waiting        // for those that go before it
	queued
)

// waits reports whether an operation has to go after one that waits itself.
func (o *operation) waits() bool {
	return slices.ContainsFunc(o.after, func(first *operation) bool {
		return first.turn == waiting || first.turn == untouched && first.waits()
	})
}

// carryOut carries out operations one after the other. From here on nothing interrupts it but an error of the
// whole machine, so that what is on the host belongs together.
func (p *puller) carryOut(order []*operation) {
	p.placeTrees(order)
	for _, o := range order {
		switch {
		case o.left || o.done || o.do == keep || o.do == chmodDir:
		case o.instead != nil && !o.instead.op.done:
			p.leave(o.item) // it was reported why the directory stays
		case o.in != nil && o.in.left && o.in.there != unix.S_IFDIR && o.do != remove:
			// The directory's own failure was reported.
			p.leave(o.item)
			p.report.Failures++
		default:
			p.carryOutOne(o)
		}
	}
}

func (p *puller) carryOutOne(o *operation) {
	err := p.place(o)
	switch {
	case err == nil:
		o.done = true
		return
	case errors.Is(err, errNeeded):
		p.report.Conflict(p.hostPath(o.path), err.Error())
		p.leave(o.item)
	default:
		p.fail(o.item, err)
	}
	if err := p.keepContent(o); err != nil {
		p.unkept = true
		p.report.Fail(p.hostPath(o.path), err)
	}
}

// keepContent brings into the database what the host held of the content of a file that did not come to its
// place: what it comes from may be replaced already.
func (p *puller) keepContent(o *operation) error {
	if o.node == nil || o.source == "" || o.tmp == "" || o.whole {
		return nil
	}
	if p.session != nil {
		return cli.WithHint(errors.New("its content is in "+p.staging.Name+" until another pull"), endSessionHint+", and pull again")
	}
	f, err := hostfs.Open(p.staging.File, o.tmp, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.fill(o.item, f)
}

// fill brings all of a file's content into the database. from has what the row does not hold.
func (p *planner) fill(a *item, from *os.File) error {
	row, err := p.rows().get(a.node.Ino)
	if err != nil {
		return err
	}
	defer p.rows().put(row)
	return p.store.Fill(row, from, false, func(int) error { return p.interrupted() })
}

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
			continue
		}
		p.wrote(a.is.Dev, a.path)
		if a.do == chmodDir {
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
	st, err := hostfs.Stat(f)
	if err != nil {
		return err
	}
	if a.do != keep {
		if err := p.setOwner(f, &st, a.item); err != nil {
			return err
		}
	}
	if hostfs.Timespec(st.Mtim) != a.attr.Mtime {
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
	if err := hostfs.Chmod(f, a.attr.Mode&modeBits|a.is.Mode&^uint32(unix.S_IFMT|modeBits)); err != nil {
		return err
	}
	return a.note(f)
}

// note notes what is in an action's place.
func (a *operation) note(f *os.File) error {
	st, err := hostfs.Stat(f)
	if err == nil {
		a.is = &st
	}
	return err
}

// setOwner gives an open file, which is st, its owner, where root pulls.
func (p *puller) setOwner(f *os.File, st *unix.Stat_t, a *item) error {
	if !p.asRoot || st.Uid == a.attr.UID && st.Gid == a.attr.GID {
		return nil
	}
	return unix.Fchownat(int(f.Fd()), "", int(a.attr.UID), int(a.attr.GID), unix.AT_EMPTY_PATH)
}
