package reconcile

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// With Options.KeepBoth a conflict is resolved so that neither side's version is lost, and does not come
// back: the host's stays at its path, the guest's is put beside it, and from then on the guest has the host's
// at that path too. Where one side has removed what the other has changed, there is nothing to put beside:
// what was changed stays, or comes back.

// copySuffix is added to the name under which the guest's version is put beside the host's; a number
// follows where that name is taken.
const copySuffix = ".art"

// maxCopies bounds the numbers that are tried.
const maxCopies = 100

// keepBoth resolves a conflict. taken says that the guest's version takes the path itself, ok that the
// conflict is none any more.
func (p *puller) keepBoth(a *item) (taken, ok bool) {
	switch {
	case a.there == 0 && !a.gone() && !p.lost(a):
		return true, true // the host has removed it
	case a.isDir():
		return false, false
	case a.gone():
		p.kept = append(p.kept, a)
		return false, true
	}
	return false, p.keepUnderOtherName(a)
}

// keepUnderOtherName plans to write the guest's version of a file beside the host's. It returns false if that cannot be.
func (p *puller) keepUnderOtherName(a *item) bool {
	for n := range maxCopies {
		b := *a
		b.path, b.was, b.there, b.conflict, b.instead = a.path+copySuffix, nil, 0, "", nil
		if n > 0 {
			b.path += strconv.Itoa(n + 1)
		}
		switch st, err := p.host.stat(b.path); {
		case err == nil:
			p.meet(&b, &st)
			if same, err := p.equal(&b); err == nil && same {
				p.kept = append(p.kept, a) // it is there already
				return true
			}
			continue
		case !errors.Is(err, unix.ENOENT):
			return false
		}
		if n, from := p.guestAt(b.path); n != nil || from != "" && from != b.path {
			continue // the guest has its own
		}
		return p.planCopy(a, &b)
	}
	return false
}

// keepBlocked puts beside the host's what would take the place of a directory that stays, since what is in it
// was in conflict.
func (p *puller) keepBlocked() {
	if !p.opt.KeepBoth {
		return
	}
	for _, a := range p.items {
		if a.op == nil || a.left || a.instead == nil || !a.instead.left {
			continue
		}
		a.conflict = "the directory that it would take the place of stays"
		if !p.keepUnderOtherName(a) {
			p.report.Conflict(p.hostPath(a.path), a.conflict)
		}
		p.leave(a)
	}
}

func (p *puller) planCopy(a, b *item) bool {
	p.classify(b)
	do := write
	if b.attr.IsSymlink() {
		do = symlink
	}
	if !p.permitted(b) {
		return false
	}
	if p.lost(b) {
		if !b.node.Holds {
			return false
		}
		p.keepPart(b)
	}
	p.plan(b, &operation{do: do, copyOf: a})
	p.items = append(p.items, b)
	return !b.left
}

// commitKept writes down what was resolved: the guest's version is given up where it was.
func (p *puller) commitKept() error {
	for _, o := range p.ops {
		if o.copyOf != nil && o.done {
			p.kept = append(p.kept, o.copyOf)
		}
	}
	kept := map[*item]bool{}
	for _, a := range p.kept {
		kept[a] = true
	}
	for _, a := range p.kept {
		var err error
		if a.gone() {
			err = p.restore(a, kept)
		} else {
			err = p.giveUp(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// commitKeptBeside is commitKept once a session knows of all else. What the guest has written again meanwhile it keeps: the
// version that was pulled is beside the host's.
func (p *puller) commitKeptBeside() error {
	if !p.opt.KeepBoth {
		return nil
	}
	err := p.store.Sync()
	if err == nil {
		err = p.commitKept()
	}
	if err == nil {
		err = p.store.Sync()
	}
	if errors.Is(err, unix.EAGAIN) {
		p.store.Abandon()
		err = nil
		for _, a := range p.kept {
			p.report.Conflict(p.hostPath(a.path), "the guest has changed it again meanwhile")
		}
		p.kept = nil
	}
	return p.opt.writing(err)
}

// storeKept has a push store what the host has where conflicts were resolved, in a database that has all of the
// workspace.
func (p *puller) storeKept() error {
	if b := p.base["."]; len(p.kept) == 0 || p.opt.DryRun || b == nil || b.Row == 0 {
		return nil
	}
	var paths []string
	for _, a := range p.kept {
		paths = append(paths, path.Join(p.host.dir.Name(), a.path))
	}
	return p.opt.pushAgain(p.ctx, paths)
}

// pushAgain pushes paths after the guest's version of them was given up. Nothing is printed of it.
func (o Options) pushAgain(ctx context.Context, paths []string) error {
	o.Paths, o.Stdout, o.Quiet, o.Total = paths, io.Discard, true, false
	return Push(ctx, o)
}

// giveUp has the guest see the host's object again where its row was. Where it would not, since the guest's
// directory is not the host's of that path, both have agreed about the row, and the next push brings the
// host's.
func (p *puller) giveUp(a *item) error {
	shows, err := p.showsHost(a.in)
	if err != nil {
		return err
	}
	if !shows {
		p.outdate(a.path, a.node, false)
		return nil
	}
	return p.rows().with(a.in.node.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error {
		_, err := p.uncover(tx, dir, path.Base(a.path), a.path)
		return err
	})
}

// uncover has the guest see the host's at a path, which is a name in the directory dir, and reports whether anything
// hid that.
func (p *planner) uncover(tx *sqlvfs.Tx, dir *sqlvfs.Inode, name, at string) (hidden bool, err error) {
	p.forgetBelow(tx, at)
	c, ok, whiteout, err := tx.Child(dir, name)
	if err == nil && ok {
		links := dir.Attr.Nlink
		err = dropEntry(tx, dir, name, c.Ino)
		if st, serr := p.host.stat(at); serr == nil && kind(st.Mode) == unix.S_IFDIR {
			dir.Attr.Nlink = links // the host's directory has the name now
		}
	}
	if err == nil {
		err = tx.ClearWhiteout(dir, name)
	}
	return ok || whiteout, err
}

// restore has the guest see again what it has removed and the host has changed; of a directory that it has
// removed, what is left of that.
func (p *puller) restore(a *item, kept map[*item]bool) error {
	top := a
	for top.in != nil && top.in.gone() {
		top = top.in
	}
	left := func(b *item) bool { return b.left && b.there != unix.S_IFDIR && !kept[b] && within(top, b) }
	if shows, err := p.showsHost(top.in); err != nil || !shows || slices.ContainsFunc(p.items, left) {
		p.report.Conflict(p.hostPath(a.path), a.conflict)
		return err
	}
	return p.rows().with(top.in.node.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error {
		for b := a; b != top.in; b = b.in {
			tx.SetBaseline(p.id, b.path, nil)
		}
		return tx.ClearWhiteout(dir, path.Base(top.path))
	})
}

// within reports whether an item is at or below another one.
func within(top, a *item) bool {
	for ; a != nil; a = a.in {
		if a == top {
			return true
		}
	}
	return false
}

// showsHost reports whether what a directory of the guest has no row of is what the host has there.
func (p *puller) showsHost(dir *item) (bool, error) {
	for ; dir != nil; dir = dir.in {
		if dir.node == nil {
			return false, nil
		}
		row, err := p.rows().get(dir.node.Ino)
		if err != nil {
			return false, err
		}
		o := row.Origin
		p.rows().put(row)
		if o == nil || o.Base != p.name || o.Path != dir.path {
			return false, nil
		}
	}
	return p.sameTree, nil
}
