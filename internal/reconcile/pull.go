package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/reconcile/held"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/reconcile/settings"
	"github.com/riverlytech/art/internal/reconcile/staging"
	"github.com/riverlytech/art/sqlvfs"
)

// Pull brings what the guest changed in `/<base name of the directory>/` of the database opt.DB to
// the workspace opt.Dir, deletions and renames included, and prints each path. What only the host
// has changed stays. A path that both sides changed is a conflict, unless they are equal. See the
// package documentation for the steps and for what a hostile database can not do.
//
// [ErrConflicts] means that some paths were left alone, [ErrIncomplete] that some could not be done;
// each was told on standard error. After any other error that comes before the first line of output,
// the workspace is as it was.
func Pull(ctx context.Context, opt Options) error {
	opt.ctx = ctx
	abs, err := opt.workspacePath()
	if err != nil {
		return err
	}
	to, err := staging.MakeDestination(abs, opt.Umask, opt.DryRun)
	if err != nil {
		return err
	}
	defer to.Remove()
	s, err := openSides(&opt, abs, to.Path, opt.DryRun, true)
	if err != nil {
		return err
	}
	p := &puller{planner: *s.planner}
	p.settle, p.report.Doing = p, "pull"
	defer p.closeRepos()
	err = p.report.End(p.roomHint(s.close(p.run())))
	if kerr := p.storeKept(); err == nil {
		err = kerr
	}
	return err
}

// side is both sides, open.
type side struct{ *planner }

// openForReading opens the workspace and the database, and reads what is in the latter.
func openForReading(opt *Options, readOnly bool) (side, error) {
	abs, err := opt.workspacePath()
	if err != nil {
		return side{}, err
	}
	return openSides(opt, abs, abs, readOnly, false)
}

// openSides is openForReading of a workspace at a path, for which the directory dir stands. A pull may
// turn out to be an export, for which the database is only read.
func openSides(opt *Options, abs, dir string, readOnly, pulls bool) (side, error) {
	h, err := openHost(dir)
	if err != nil {
		return side{}, err
	}
	p := &planner{opt: opt, ctx: opt.ctx, report: newReporter(opt), host: h, asRoot: os.Geteuid() == 0}
	p.dirName = filepath.Base(abs)
	p.settings, p.above = settings.New(abs), namesAbove(abs)
	s := side{p}
	if err = p.open(abs, readOnly, pulls); err != nil {
		h.close()
		return side{}, err
	}
	if p.exports {
		p.name, err = opt.exportName(p.store, abs)
	} else if p.name, err = opt.workspaceName(p.store, abs); err == nil {
		err = opt.claim(p.ctx, p.store, h, abs, p.name, false)
	}
	if err == nil {
		err = p.load()
	}
	if err == nil {
		err = p.limitTo(abs)
	}
	if err == nil {
		p.filter, err = selection.NewFilter(h.patterns(opt))
	}
	if err != nil {
		return side{}, s.close(err)
	}
	return s, nil
}

// open opens the database.
func (p *planner) open(abs string, readOnly, pulls bool) (err error) {
	how := sqlvfs.Options{ReadOnly: readOnly, Waiting: p.opt.waiting()}
	if pulls {
		empty, err := identity.Empty(p.host.dir, p.opt.DB)
		if err != nil {
			return fmt.Errorf("workspace %s: %w", abs, hostdir.Unwrap(err))
		}
		how.ReadOnly = readOnly || empty
	}
	if p.store, err = sqlvfs.Open(p.opt.DB, how); err == nil && pulls {
		if p.exports, err = p.opt.exports(p.store, p.host, abs); err != nil {
			p.store.Close()
		}
	}
	if err == nil && how.ReadOnly != readOnly && !p.exports {
		p.store.Close()
		how.ReadOnly = readOnly
		p.store, err = sqlvfs.Open(p.opt.DB, how)
	}
	if err != nil {
		return openError(p.opt.DB, err)
	}
	return nil
}

// close closes both sides; err is what the run has come to.
func (s side) close(err error) error {
	if cerr := s.store.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("write %s: %w", s.opt.DB, cerr)
	}
	s.host.close()
	return err
}

// join reads what both sides last agreed about, after what a pull that was killed had begun is finished.
func (p *planner) join() (err error) {
	if p.host.db, err = identity.FilesOf(p.database()); err != nil {
		return fmt.Errorf("find %s: %w", p.opt.DB, err)
	}
	if err := p.loadHidden(); err != nil {
		return err
	}
	if p.id, err = p.host.tree(p.name); err != nil || p.store == nil {
		return err
	}
	if err := rescue(p.ctx, p.opt, p.host, p.store, p.name); err != nil {
		return err
	}
	if p.referred, err = refer(p.ctx, p.host, p.store, p.name); err == nil {
		err = p.store.View(func(tx *sqlvfs.Tx) (err error) {
			if p.base, err = tx.Baselines(p.id); err == nil {
				rebase(tx, p.id, p.base, p.referred)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p.opt.DB, err)
	}
	return nil
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
		return fmt.Errorf("read %s: %w", p.opt.DB, err)
	}
	if p.top == nil {
		return p.noWorkspace(p.tree.Node(sqlvfs.RootIno))
	}
	if !p.top.Attr.IsDir() {
		return fmt.Errorf("read %s: /%s: %w", p.opt.DB, p.name, unix.ENOTDIR)
	}
	return nil
}

// loadTree reads the tree.
func (p *planner) loadTree(tx *sqlvfs.Tx) (err error) {
	if p.tree, err = tx.Snapshot(); err == nil {
		p.tree.Refer(newer(p.referred))
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
	p.named = map[sqlvfs.Ino]uint32{}
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

// puller is one run of Pull.
type puller struct {
	planner
	staging   *staging.Dir
	defaults  defaults
	journaled bool    // the database has a journal of what is done
	written   devices // on which something was done
	unkept    bool    // what is staged is needed still
	kept      []*item // conflicts that are resolved, whose guest's version is given up
}

func (p *puller) run() error {
	p.report.Line("Workspace name: %s", p.report.Name(p.name))
	p.report.Line("Exporting from: %s", p.report.Name("/"+p.name+"/"))
	if p.exports {
		if err := p.tellExport(); err != nil {
			return err
		}
	}
	if p.top == nil {
		return p.pullOutside()
	}
	if err := p.compare(); err != nil {
		return err
	}
	p.tellRepos()
	if p.opt.DryRun {
		for _, o := range p.ops {
			p.print(o)
		}
		p.printRepos()
		return nil
	}
	if err := staging.Sweep(p.host.dir, p.host.db.ID(), p.leftByAnother); err != nil {
		return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
	}
	if err := p.fits(); err != nil {
		return err
	}
	defer p.endStaging()
	if err := p.stage(); err != nil {
		return err
	}
	if err := p.importObjects(); err != nil {
		return err
	}
	if err := p.execute(); err != nil {
		return err
	}
	p.finishRepos()
	if err := p.sync(); err != nil {
		p.leaveStaging() // the next pull finds by the journal what the guest has
		return err
	}
	for _, step := range []func() error{p.commit, p.absorb, p.endJournal} {
		if err := step(); err != nil {
			p.leaveStaging()
			return err
		}
	}
	return p.release()
}

// print tells of one operation.
func (p *puller) print(a *operation) {
	name := p.report.Name(p.hostPath(a.path))
	switch a.do {
	case mkdir, chmodDir:
		p.report.Line("DIR  %s", name)
	case symlink:
		p.report.Line("LINK %s -> %s", name, p.report.Name(a.target))
	case write, attributes, hardLink:
		p.report.Line("FILE %s (%d bytes)", name, a.attr.Size)
	case remove:
		p.report.Line("DEL  %s", name)
	}
}

// conflict implements settler.
func (p *puller) conflict(a *item) bool {
	if p.opt.Force {
		return true
	}
	if p.opt.KeepBoth {
		if taken, ok := p.keepBoth(a); ok {
			a.resolved = true
			return taken
		}
	}
	p.report.Conflict(p.hostPath(a.path), a.conflict)
	return false
}

// needed implements settler.
func (p *puller) needed(a *item) { p.report.Stays(p.hostPath(a.path), a.conflict) }

// held implements settler.
func (p *puller) held(a *item) bool {
	if p.opt.allows(a.path, a.attr.IsDir()) {
		return true
	}
	p.report.Held(p.hostPath(a.path), a.held)
	return false
}

// fail says that an item cannot be done. The directories above it will not be complete, and the
// host file that it takes its content from must stay for another attempt.
func (p *puller) fail(a *item, err error) {
	p.report.Fail(p.hostPath(a.path), err)
	p.leave(a)
}

// lacking says that a directory will be there, but not all of what belongs into it.
func (p *puller) lacking(a *item, err error) {
	var gone *goneError
	if errors.As(err, &gone) { // both have changed what there was
		p.report.Stays(p.hostPath(a.path), "the host has removed "+p.report.ErrName(gone.where)+", which holds the rest of its entries")
	} else {
		p.report.Fail(p.hostPath(a.path), err)
	}
	a.lacks()
}

// fatal tells whether an error would hit all the other files too.
func fatal(err error) bool {
	for _, e := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, errInterrupted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// roomHint adds to an error that ended a pull for want of room what was done by then.
func (p *puller) roomHint(err error) error {
	if err == nil || !isFull(err) || errors.As(err, new(cli.Hinted)) {
		return err
	}
	done := 0
	for _, o := range p.ops {
		if o.done && o.do != keep {
			done++
		}
	}
	if done == 0 {
		return cli.WithHint(err, "nothing was changed in the workspace: make room, and pull again")
	}
	return cli.WithHint(err, fmt.Sprintf("%s in the workspace: make room, and pull again to have the database know", report.Count(done, "change")))
}
