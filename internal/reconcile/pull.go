package reconcile

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/staging"
)

// Pull brings what the guest changed in `/<base name of the directory>/` of the database opt.DB to
// the workspace opt.Dir, deletions and renames included, and prints each path. What only the host
// has changed stays. A path that both sides changed is a conflict, unless they are equal. See the
// package documentation for the steps and for what a hostile database can not do.
//
// [ErrConflicts] means that some paths were left alone, [ErrIncomplete] that some could not be done;
// each was reported on standard error. After any other error that comes before the first line of output,
// the workspace is as it was.
func Pull(ctx context.Context, opt Options) error {
	opt.ctx = ctx
	abs, err := opt.workspacePath()
	if err != nil {
		return err
	}
	if !opt.DryRun {
		family, err := opt.holdFamily()
		if err != nil {
			return err
		}
		defer family.Close() // of nil, that does nothing
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
	p := &puller{planner: *s}
	p.policy, p.report.Doing = p, "pull"
	defer p.closeRepos()
	err = s.close(p.run())
	p.leaveRelatives()
	err = p.report.End(p.roomHint(err))
	if kerr := p.storeKept(); err == nil {
		err = kerr
	}
	return err
}

// puller is one run of Pull.
type puller struct {
	planner
	staging   *staging.Dir
	defaults  defaults
	journaled bool    // the database has a journal of what is done
	depends   bool    // rows or checkpoints depend on what is replaced
	written   devices // on which something was done
	unkept    bool    // what is staged is needed still
	kept      []*item // conflicts that are resolved, whose guest's version is given up
	relatives []*relative
}

func (p *puller) run() error {
	p.report.Line("Workspace name: %s", p.report.Name(p.name))
	p.report.Line("Exporting from: %s", p.report.Name("/"+p.name+"/"))
	if p.exports {
		if err := p.noteExport(); err != nil {
			return err
		}
	}
	if !p.opt.DryRun { // also where nothing is left to pull: the guest may have gone back since one was killed
		if err := staging.Sweep(p.host.dir, p.host.db.ID(), p.leftByAnother); err != nil {
			return p.host.failed(err)
		}
	}
	if p.absent != nil {
		if on, err := p.mayPullAbsent(); !on {
			return err
		}
	}
	if p.top == nil {
		return p.pullExternal()
	}
	if err := p.compare(); err != nil {
		return err
	}
	p.reportRepos()
	if p.opt.DryRun {
		for _, o := range p.ops {
			p.print(o)
		}
		p.printRepos()
		return nil
	}
	if err := p.preflight(); err != nil {
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
	if p.session != nil {
		return p.commitKeptBeside()
	}
	return p.release()
}

// print prints one operation.
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

// conflict implements policy.
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

// needed implements policy.
func (p *puller) needed(a *item) { p.report.Stays(p.hostPath(a.path), a.conflict) }

// held implements policy.
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

// fatal reports whether an error would hit all the other files too.
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
