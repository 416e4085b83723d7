package git

import (
	"strings"
	"testing"
)

// TestBranchInUse has the host rebase or bisect a branch that the guest commits to. It counts as checked out: the
// guest's has another name, and what the host began it can end.
func TestBranchInUse(t *testing.T) {
	const rebase = "git branch x HEAD~1; git switch -q x; echo x >c; git commit -qam x; git switch -q main"
	for what, doing := range map[string][2]string{
		"rebase":   {"git rebase x || true", "git rebase --abort"},
		"apply":    {"git rebase --apply x || true", "git rebase --abort"},
		"bisect":   {"git bisect start; git bisect bad; git bisect good HEAD~1; git checkout -q --detach", "git bisect reset"},
		"worktree": {"git switch -q x; git worktree add -q ../wt main; cd ../wt; git rebase x || true", "cd ../wt; git rebase --abort"},
		"updates":  {"git branch under; git commit -q --allow-empty -m over; git rebase --update-refs x || true", "git rebase --abort"},
	} {
		t.Run(what, func(t *testing.T) {
			p := newPair(t, rebase)
			p.in(p.guest, "echo g >g; git add g; git commit -qm gg; git branch -f under")
			if what == "updates" {
				p.in(p.guest, "git reset -q --hard HEAD~1")
			}
			p.in(p.host, doing[0])
			before := p.in(p.host, "git rev-parse main; git status --porcelain")
			plan := p.plan()
			if err := p.carryOut(plan); err != nil {
				t.Fatal(err)
			}
			for _, c := range plan.Refs {
				if c.Name == "refs/heads/main" {
					t.Errorf("%s; %q", c, plan.Conflicts)
				}
			}
			if after := p.in(p.host, "git rev-parse main; git status --porcelain"); after != before {
				t.Errorf("it was %s, and is %s", before, after)
			}
			p.in(p.host, doing[1])
			name := "main.art"
			if what == "updates" {
				name = "under.art"
			}
			if out := p.in(p.host, "git log --format=%s "+name+" -- g"); out != "gg\n" || !strings.Contains(strings.Join(plan.Conflicts, "\n"), name) {
				t.Errorf("%s%q", out, plan.Conflicts)
			}
		})
	}
}
