package reconcile

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// The guest may remove the directory that the workspace is, move it, or put something else in its place: `rm -rf ~/*` does.
// Then the directory has no row, and its name in the root has a whiteout or stands for something else. What the guest has
// removed in it is compared as in a directory without entries; that the directory itself is gone is a change of its own, which
// is never pulled without a word, and which a reset takes back.

// absence is what the guest has done to the workspace's directory.
type absence struct {
	removed bool   // and has put nothing in its place
	why     string // what it has done
}

// findAbsent finds out whether the guest has the workspace's directory. If not, an empty one that is not in the tree stands
// for it in p.top.
func (p *planner) findAbsent() error {
	p.absent = nil
	root := p.tree.Node(sqlvfs.RootIno)
	switch {
	case p.top != nil && p.top.Attr.IsDir():
		return nil
	case p.top != nil:
		p.absent = &absence{why: "the guest has put a " + hostfs.KindName(p.top.Attr.Mode) + " in the place of the workspace's directory"}
	case slices.Contains(root.Whiteouts, p.name):
		p.absent = p.removedOrMoved(root)
	default:
		return nil
	}
	st, err := hostfs.Stat(p.host.dir)
	if err != nil {
		return p.host.failed(err)
	}
	p.top = &sqlvfs.Node{Attr: attrOf(&st)}
	return nil
}

// removedOrMoved looks for another place that shows the host's directory.
func (p *planner) removedOrMoved(root *sqlvfs.Node) *absence {
	if n := p.origins["."]; n != nil && n.Attr.IsDir() && p.named[n.Ino] > 0 {
		to := "elsewhere"
		if i := slices.IndexFunc(root.Children, func(e sqlvfs.Entry) bool { return e.Ino == n.Ino }); i >= 0 {
			to = "to ~/" + p.report.ErrName(root.Children[i].Name)
		}
		return &absence{why: "the guest has moved the workspace's directory " + to}
	}
	return &absence{removed: true, why: "the guest has removed the workspace's directory"}
}

// absentItem is the workspace's directory as something that the guest has removed.
func (p *planner) absentItem() *item {
	return &item{path: ".", there: unix.S_IFDIR, host: p.top.Attr, conflict: p.absent.why}
}

// noteAbsent says that the workspace's directory is gone, and what brings it back.
func (p *planner) noteAbsent() {
	if p.absent != nil {
		p.report.Note(p.hostPath("."), p.absent.why+": art reset brings it back")
	}
}

// mayPullAbsent reports whether a pull goes on although the guest has no workspace: only if it is told to, and if the guest needs
// nothing of what the host has. The guest then gets an empty directory, as the host will have one.
func (p *puller) mayPullAbsent() (bool, error) {
	a := p.absent
	switch {
	case !a.removed || p.exports:
		p.report.Stays(p.hostPath("."), a.why+": art reset brings it back")
		return false, nil
	case !p.opt.Force:
		p.report.Stays(p.hostPath("."), a.why+": art reset brings it back, --force removes on the host what the guest has removed")
		return false, nil
	case p.session != nil:
		return false, cli.WithHint(fmt.Errorf("%s: %s", p.report.ErrName(p.hostPath(".")), a.why), endSessionHint)
	case p.opt.DryRun:
		return true, nil
	}
	err := p.rows().do(func(tx *sqlvfs.Tx) error {
		attr := p.top.Attr
		attr.Nlink, attr.Size = 2, 0
		row, err := tx.New(attr)
		if err != nil {
			return err
		}
		defer tx.Put(row)
		// The whiteout stays: without it, the directory would show the host's entries.
		root := tx.Root()
		root.Attr.Nlink++
		tx.Dirty(root)
		return tx.Link(root, p.name, row)
	})
	if err == nil {
		err = p.store.Sync()
	}
	if err != nil {
		return false, p.opt.writing(err)
	}
	p.absent = nil
	return true, p.load()
}

// mayPushAbsent reports whether a push goes on although the guest has no workspace: only if it is told to. The guest then has the
// host's again.
func (p *pusher) mayPushAbsent() (bool, error) {
	if p.store == nil {
		return true, nil
	}
	has, err := sqlvfs.Query(p.store, func(tx *sqlvfs.Tx) (bool, error) {
		c, ok, white, err := tx.Child(tx.Root(), p.name)
		return !white && (!ok || kind(c.Mode) == unix.S_IFDIR), err
	})
	if err != nil || has {
		return err == nil, err
	}
	if err := p.loadGuest(); err != nil || p.absent == nil {
		return err == nil, err
	}
	if !p.opt.Force {
		p.report.Stays(p.guestPath("."), p.absent.why+": art reset brings it back")
		return false, nil
	}
	if p.beside {
		return false, cli.WithHint(fmt.Errorf("%s: %s", p.guestPath("."), p.absent.why), endSessionHint)
	}
	if p.opt.DryRun {
		return true, nil
	}
	root := p.rows().root()
	defer p.rows().put(root)
	err = p.rows().do(func(tx *sqlvfs.Tx) error {
		_, err := p.uncover(tx, root, p.name, ".")
		return err
	})
	if err == nil {
		err = p.store.Sync()
	}
	if err != nil {
		return false, err
	}
	p.tree, p.absent = nil, nil
	return true, p.load()
}
