package reconcile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/reconcile/held"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/reconcile/settings"
	"github.com/riverlytech/art/sqlvfs"
)

// openForReading opens the workspace and the database, and reads what is in the latter.
func openForReading(opt *Options, readOnly bool) (*planner, error) {
	abs, err := opt.workspacePath()
	if err != nil {
		return nil, err
	}
	return openSides(opt, abs, abs, readOnly, false)
}

// openSides is openForReading of a workspace at a path, for which the directory dir stands. A pull may
// turn out to be an export, for which the database is only read.
func openSides(opt *Options, abs, dir string, readOnly, pulls bool) (*planner, error) {
	h, err := openHost(dir)
	if err != nil {
		return nil, err
	}
	p := &planner{opt: opt, ctx: opt.ctx, report: newReporter(opt), host: h, asRoot: os.Geteuid() == 0}
	p.dirName = filepath.Base(abs)
	p.settings, p.above = settings.New(abs), namesAbove(abs)
	if err = p.open(abs, readOnly, pulls); err != nil {
		h.close()
		return nil, err
	}
	if p.exports {
		p.name, err = opt.exportName(p.store, abs)
	} else if p.name, err = opt.workspaceName(p.store, abs); err == nil {
		err = opt.claim(p.ctx, p.store, h, abs, p.name, false)
	}
	if err == nil {
		err = p.load()
	}
	if err == nil && pulls {
		err = p.awaitGit(p.load)
	}
	if err == nil {
		err = p.limitTo(abs)
	}
	if err == nil {
		p.filter, err = selection.NewFilter(h.patterns(opt))
	}
	if err != nil {
		return nil, p.close(err)
	}
	return p, nil
}

// open opens the database.
func (p *planner) open(abs string, readOnly, pulls bool) (err error) {
	how := sqlvfs.Options{ReadOnly: readOnly, Waiting: p.opt.waiting(p.opt.DB), Checkpoint: sqlvfs.BeforeReset}
	if pulls {
		how.Checkpoint = sqlvfs.BeforePull
		empty, err := identity.Empty(p.host.dir, p.opt.DB)
		if err != nil {
			return fmt.Errorf("workspace %s: %w", abs, hostfs.Unwrap(err))
		}
		how.ReadOnly = readOnly || empty
	}
	if err = p.openStore(how); err == nil && pulls {
		if p.exports, err = p.opt.exports(p.store, p.host, abs); err != nil {
			p.closeStore()
		}
	}
	if err == nil && how.ReadOnly != readOnly && !p.exports {
		p.closeStore()
		how.ReadOnly = readOnly
		err = p.openStore(how)
	}
	if err != nil {
		return openError(p.opt.DB, err)
	}
	return nil
}

// close closes both sides; err is what the run has come to.
func (p *planner) close(err error) error {
	if cerr := p.opt.writing(p.closeStore()); err == nil {
		err = cerr
	}
	p.host.close()
	return err
}

// join reads what both sides last agreed about, after what a pull that was killed had begun is finished.
func (p *planner) join() (err error) {
	if !sqlvfs.IsRemote(p.database()) {
		if p.host.db, err = identity.FilesOf(p.database()); err != nil {
			return fmt.Errorf("find %s: %w", p.opt.DB, err)
		}
	}
	if err := p.loadHidden(); err != nil {
		return err
	}
	if p.id, err = p.host.tree(p.name); err != nil || p.store == nil {
		return err
	}
	if err := p.recoverJournal(); err != nil {
		return err
	}
	if p.revalidated, err = revalidate(p.ctx, p.host, p.store, p.name); err == nil {
		err = p.store.View(func(tx *sqlvfs.Tx) (err error) {
			if p.base, err = tx.Baselines(p.id); err == nil {
				rebase(tx, p.id, p.base, p.revalidated)
			}
			return err
		})
	}
	if err == nil && !p.exports {
		err = p.joinParents()
	}
	return p.opt.reading(err)
}

// joinParents adds what the host has of a fork's beginnings, since pulls from the databases that it is a fork of.
func (p *planner) joinParents() error {
	agreed, err := p.store.AgreedByParents(p.id)
	if p.base == nil && len(agreed) > 0 {
		p.base = map[string]*sqlvfs.Baseline{}
	}
	for at, b := range agreed {
		if p.base[at] == nil {
			p.base[at] = b
		}
	}
	return err
}

// database is the path of the database, which may not be there yet.
func (p *planner) database() string {
	if p.store == nil {
		return p.opt.DB
	}
	return p.store.Path()
}

// load reads what the database holds, but for content.
func (p *planner) load() error {
	if err := p.join(); err != nil {
		return err
	}
	w, _, err := workspaceOf(p.store, p.name)
	if p.whole = w.Whole; err == nil {
		err = p.store.View(p.loadTree)
	}
	if err != nil {
		return p.opt.reading(err)
	}
	if err := p.findAbsent(); err != nil || p.top != nil {
		return err
	}
	return p.noWorkspace(p.tree.Node(sqlvfs.RootIno))
}

// loadTree reads the tree.
func (p *planner) loadTree(tx *sqlvfs.Tx) (err error) {
	if p.tree, err = tx.Snapshot(); err == nil {
		p.tree.Refer(newer(p.revalidated))
		p.top = p.tree.Child(p.tree.Node(sqlvfs.RootIno), p.name)
		p.index()
	}
	if err == nil {
		err = p.loadAsked(tx)
	}
	return err
}

// loadAsked reads what presets have asked to be held back.
func (p *planner) loadAsked(tx *sqlvfs.Tx) error {
	holds, err := tx.Holds()
	var list []hold.Pattern
	for _, h := range holds {
		list = append(list, hold.Pattern{Text: h.Pattern, Why: h.Why})
	}
	p.byPreset = held.NewAsked(list)
	return err
}

// index prepares what is looked up by path and by inode.
func (p *planner) index() {
	// Which directory the origins are in tells the workspace's own row.
	var o *sqlvfs.Origin
	if p.top != nil {
		o = p.top.Origin
	}
	p.sameTree = !p.exports && (o == nil || o.Fingerprint.Ino == p.id.Ino)
	p.named, p.showing = map[sqlvfs.Ino]uint32{}, map[sqlvfs.Ino]bool{}
	p.origins = map[string]*sqlvfs.Node{}
	p.tree.All(func(n *sqlvfs.Node) {
		for _, e := range n.Children {
			p.named[e.Ino]++
		}
	})
	named := func(n *sqlvfs.Node) bool { return p.named[n.Ino] > 0 }
	p.tree.All(func(n *sqlvfs.Node) {
		if n.Origin == nil || n.Origin.Base != p.name {
			return
		}
		// A row that still has a name tells more than one that tells of a removed one.
		was := p.origins[n.Origin.Path]
		if was == nil || named(n) && !named(was) || named(n) == named(was) && n.Ino < was.Ino {
			p.origins[n.Origin.Path] = n
		}
	})
	p.places = map[sqlvfs.Ino]string{}
	if p.top != nil {
		p.locate(p.top, ".")
	}
	p.byDir = map[string][]string{}
	p.rowPaths = map[sqlvfs.Ino]string{}
	for at, b := range p.base {
		if was, ok := p.rowPaths[b.Row]; !ok || at < was {
			p.rowPaths[b.Row] = at
		}
		if at != "." {
			p.byDir[path.Dir(at)] = append(p.byDir[path.Dir(at)], path.Base(at))
		}
	}
}

// locate notes where directories are. One that has several places is not entered twice.
func (p *planner) locate(n *sqlvfs.Node, at string) {
	if _, again := p.places[n.Ino]; again || len(at) > maxPath {
		return
	}
	p.places[n.Ino] = at
	for _, e := range n.Children {
		if c := p.tree.Node(e.Ino); c.Attr.IsDir() {
			p.locate(c, join(at, e.Name))
		}
	}
}
