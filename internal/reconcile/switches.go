package reconcile

import "github.com/riverlytech/art/internal/git"

// That the guest has switched to another branch is one change of all files in which the two differ. As git itself, pull does not switch
// where the host has changed one of these: its HEAD stays with all of them, and the guest's branch comes.

// keepCheckouts plans anew what becomes of the repositories in which the host cannot be switched.
func (p *planner) keepCheckouts() error {
	if p.opt.Force || p.opt.KeepBoth {
		return nil
	}
	for _, a := range p.items {
		if a.isDir() || !a.decision.Conflict() || !p.blocks(a) {
			continue
		}
		r := p.repoOver(a.path)
		r.options.Stay = "the host has changed " + p.report.ErrName(a.path) + ", which is another on the guest's branch"
		plan, err := git.New(p.ctx, r.options)
		if err != nil {
			return err
		}
		r.plan.Close()
		r.plan = plan
	}
	return nil
}

// blocks reports whether an item is one that both sides have changed, the guest by switching to another branch.
func (p *planner) blocks(a *item) bool {
	r := p.repoOver(a.path)
	if r == nil || !r.switches() || !r.plan.Takes(r.pathOf(a.path)) {
		return false
	}
	skipped := r.skipped
	defer func() { r.skipped = skipped }() // it is only asked here
	return !p.original(a.path, a.node)
}

// switches reports whether the host is to be on another branch.
func (r *repo) switches() bool { return r.plan != nil && !r.plan.HeadStays && r.plan.Head != "" }

// leaveSwitches leaves the files of repositories that are left, where these would be those of another branch.
func (p *planner) leaveSwitches(left []*repo) {
	for _, r := range left {
		if !r.switches() {
			continue
		}
		for _, a := range p.items {
			if a.op != nil && !a.left && !a.isDir() && p.repoOver(a.path) == r && p.gitHas(r, a.path, a.node, r.plan.Committed) {
				p.leave(a)
			}
		}
		p.keepNeeded()
	}
}
