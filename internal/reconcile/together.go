package reconcile

import (
	"strings"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/pick"
)

// The references, the index and HEAD of a repository are one change, and one with the files that the guest has
// committed: where the index came and such a file did not, the user's next `git commit -a` would take back what
// the guest has done to it. So then none of them comes.

// keepTogether leaves the repositories as they are whose index would come without a file in it. It returns those
// that it leaves.
func (p *planner) keepTogether() (left []*repo) {
	for _, a := range p.notDone {
		r := p.repoOver(a.path)
		if r == nil || r.plan.Left || !p.breaksUp(r, a) {
			continue
		}
		r.plan.Leave("left as it is: the guest has committed " + p.report.ErrName(a.path) + ", which does not come: pull both together")
		left = append(left, r)
	}
	return left
}

// breaksUp tells whether the index of a repository must not come without an item.
func (p *planner) breaksUp(r *repo, a *item) bool {
	d := a.decision
	return !a.isDir() && (d == classify.Decision{} || d.Pull() || d.Conflict()) && !a.resolved && r.plan.Takes(r.pathOf(a.path))
}

// askRepos asks about repositories.
func (c *chooser) askRepos() error {
	for _, r := range c.keepTogether() {
		for _, text := range r.plan.Conflicts {
			c.report.Note(c.hostPath(r.dir), text) // the user has said so
		}
		r.plan.Leave("")
	}
	for _, r := range c.sortedRepos() {
		if r.plan == nil || r.plan.Left || r.plan.Empty() {
			continue
		}
		taken, _, err := c.asker.Ask(c.ctx, pick.Change{Head: c.headOf(r), What: "references"})
		if err != nil {
			return err
		}
		if !taken {
			r.plan.Leave("")
		}
	}
	return nil
}

// headOf is what is shown of a repository that is asked about.
func (c *chooser) headOf(r *repo) string {
	var b strings.Builder
	for _, l := range c.refLines() {
		if l.repo != r || l.conflict {
			continue
		}
		b.WriteString("REF " + c.report.Name(r.dir) + " " + c.report.Name(l.text) + "\n")
		var commits []git.Commit
		if l.ref != nil {
			commits = r.plan.Commits(*l.ref)
		}
		for _, commit := range commits {
			b.WriteString("    " + c.report.Name(commit.String()) + "\n")
		}
	}
	return b.String()
}
