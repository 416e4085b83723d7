package reconcile

import (
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// keepForCheckpoints has history take what checkpoints show of the host and this pull is about to change there: from then on they can be
// shown, and gone back to, whatever becomes of the host. Nothing in the workspace has been changed yet.
func (p *puller) keepForCheckpoints() error {
	if p.exports {
		return nil
	}
	err := p.keepAll()
	if n := uint64(p.store.Dropped()); p.session == nil && n > 0 { // a session tells it itself
		p.report.Note(p.opt.DB, control.Dropped(n))
	}
	return err
}

// changedDir is what a pull changes in one directory of the host.
type changedDir struct {
	on   *planner
	list []sqlvfs.HostChange
}

// keepAll is keepForCheckpoints of the workspace, and of its repository where that is outside.
func (p *puller) keepAll() error {
	list := p.changesOfHost()
	var all []changedDir
	for _, r := range p.sortedRepos() {
		if r.plan == nil || r.plan.Left {
			continue
		}
		if of := r.changesOfHost(p.host); r.on == nil {
			list = append(list, of...)
		} else {
			all = append(all, changedDir{r.on, of})
		}
	}
	all = append(all, changedDir{&p.planner, list})
	all = slices.DeleteFunc(all, func(c changedDir) bool { return len(c.list) == 0 })
	for _, c := range all {
		if err := p.keep(c.on, c.list); err != nil {
			return err
		}
	}
	return p.keepForRelatives(all)
}

// keep is keepForCheckpoints of what changes in one directory of the host, in the database that is pulled from.
func (p *puller) keep(on *planner, list []sqlvfs.HostChange) error {
	p.report.Phase("keep")
	told := map[string]bool{}
	step := func(path string, bytes int64, lost error) error {
		if isFull(lost) && !told[path] {
			told[path] = true
			p.report.Note(on.hostPath(path), "there is no room to keep it for checkpoints: they cannot be gone back to past this pull")
		}
		p.report.Add(1, bytes)
		return p.interrupted()
	}
	st, err := hostfs.Stat(on.host.dir)
	if err != nil {
		return on.host.failed(err)
	}
	if p.session != nil {
		err = p.session.Keep(on.id, list, false)
	} else if err = p.store.KeepHost(on.id, hostTree{on.host, st.Dev}, list, step); err == nil {
		var all []sqlvfs.Checkpoint
		all, err = p.store.Checkpoints()
		p.depends = p.depends || len(all) > 0
	}
	if errors.Is(err, errInterrupted) {
		return err
	}
	if isFull(err) {
		err = cli.WithHint(err, "nothing was changed in the workspace: make room, and pull again. Checkpoints keep what a pull replaces, and `art gc` drops old ones")
	}
	return p.opt.writing(err)
}

// changesOfHost are the paths of the workspace that this pull is going to change.
func (p *puller) changesOfHost() (list []sqlvfs.HostChange) {
	for _, o := range p.ops {
		if o.left || o.done {
			continue
		}
		c := sqlvfs.HostChange{Path: o.path, Effect: sqlvfs.Replaces}
		if o.do != remove {
			c.Type = kind(o.attr.Mode)
		}
		switch {
		case o.there == 0 && (o.do == remove || o.do == keep):
			continue
		case o.there == 0:
			c.Effect = sqlvfs.Makes
		case o.do == chmodDir:
			c.Effect = sqlvfs.Retouches
		case !o.replaces() && o.do != attributes, o.do == remove && o.incomplete:
			continue
		case o.do == remove && (o.by == nil || o.by.op == nil):
			c.Effect = sqlvfs.Removes
		}
		if o.attr.IsDir() && o.do != remove && !o.incomplete {
			c.From = o.movedFrom(p.name)
		}
		if o.there == unix.S_IFREG && o.host.Nlink > 1 {
			c.Linked = o.now.Ino
		}
		list = append(list, c)
	}
	return list
}

// notePulled writes down what a pull that was killed had brought to the host, or removed there: as [puller.notePulled] would have.
func (r *recoverer) notePulled(e *journalEntry, st *unix.Stat_t, placed bool) {
	var left *sqlvfs.Baseline
	switch {
	case e.Do == keep && e.Is == e.Now, e.Do != remove && !placed:
		return
	case e.Do != remove:
		left = &sqlvfs.Baseline{Mode: st.Mode&^modeBits | e.Attr.Mode&modeBits, Fingerprint: hostfs.Fingerprint(st), Hash: e.Hash, Row: e.Row, RowCtime: e.Ctime}
	case r.host.has(string(e.Path)):
		return
	default:
		r.vanished = append(r.vanished, string(e.Path))
	}
	r.rows().set(func(tx *sqlvfs.Tx) { tx.NotePulled(r.id, string(e.Path), left) })
}

// notePulled writes down what has come to the host, or gone there, also by a pull that was killed: what both had agreed on at paths that it
// has removed is only forgotten by this one.
func (p *puller) notePulled() error {
	return p.rows().do(func(tx *sqlvfs.Tx) error {
		for _, o := range p.ops {
			if !o.done || o.do == keep || o.by != nil {
				continue
			}
			var left *sqlvfs.Baseline
			if o.do != remove {
				st, err := p.placed(o)
				if err != nil {
					continue // somebody has removed it since
				}
				left = &sqlvfs.Baseline{Mode: st.Mode, Fingerprint: hostfs.Fingerprint(&st), Hash: o.hash}
				if o.node != nil {
					left.Mode, left.Row = st.Mode&^modeBits|o.attr.Mode&modeBits, o.node.Ino
				}
				if o.node != nil && !o.part {
					left.RowCtime = o.node.Attr.Ctime
				}
			}
			tx.NotePulled(p.id, o.path, left)
		}
		for _, at := range p.removedBefore {
			if !p.host.has(at) {
				tx.NotePulled(p.id, at, nil)
			}
		}
		return nil
	})
}

// hostTree is the workspace for [sqlvfs.Store.KeepHost].
type hostTree struct {
	*host
	dev uint64
}

// Describe implements sqlvfs.HostTree.
func (t hostTree) Describe(path string) (*sqlvfs.HostObject, error) {
	f, err := t.open(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := hostfs.Stat(f)
	if err != nil {
		return nil, err
	}
	o := &sqlvfs.HostObject{Attr: hostfs.Attr(&st), Fingerprint: hostfs.Fingerprint(&st)}
	o.Number = o.Fingerprint.Number(t.dev)
	if o.IsSymlink() {
		if o.Target, err = hostfs.Readlink(f, ""); err != nil {
			return nil, err
		}
	}
	o.Xattrs, err = hostfs.Xattrs(int(f.Fd()), shownXattr)
	return o, err
}

// shownXattr tells whether a session is shown an extended attribute of the host's files.
func shownXattr(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "trusted.") || name == "security.capability" || strings.HasPrefix(name, "system.posix_acl_")
}

// Names implements sqlvfs.HostTree.
func (t hostTree) Names(path string) ([]string, error) {
	d, err := t.read(path)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.names()
}

// Inode implements sqlvfs.HostTree.
func (t hostTree) Inode(path string) (mode uint32, ino uint64, err error) {
	st, err := t.stat(path)
	return st.Mode, st.Ino, err
}

// Content implements sqlvfs.HostTree.
func (t hostTree) Content(path string) (sqlvfs.HostContent, error) {
	f, err := t.openFile(path)
	if err != nil {
		return nil, err
	}
	return hostContent{f}, nil
}

type hostContent struct{ *os.File }

// Version implements sqlvfs.HostContent.
func (f hostContent) Version() (sqlvfs.Fingerprint, error) {
	st, err := hostfs.Stat(f.File)
	return hostfs.Fingerprint(&st), err
}
