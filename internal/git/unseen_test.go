package git

import (
	"strings"
	"testing"
)

// TestUnseenValue has the guest's packed-refs hide what the host has packed, while the guest sees the host's reflog: it commits upon what
// was there before, upon nothing, or finds no branch at all.
func TestUnseenValue(t *testing.T) {
	const hide = "git branch tmp; git branch -q -D tmp; cp ../host/.git/logs/HEAD .git/logs; cp ../host/.git/logs/refs/heads/main .git/logs/refs/heads; cp ../host/.git/logs/refs/heads/topic .git/logs/refs/heads; "
	for guest, aside := range map[string]string{
		"git commit -qm guest":                                 "main.art",
		"git commit -qm guest; git commit -q --amend -m again": "main.art",
		"git commit -qm guest; git switch -q --detach; git switch -q main; git reset -q --hard HEAD~": "",
		"git switch -q -c other; git switch -q main; git commit -qm guest":                            "main.art",
		"rm .git/refs/heads/main; git commit -qm guest":                                               "main.art",
		"git reset -q --hard; rm .git/refs/heads/topic":                                               "",
	} {
		t.Run(guest, func(t *testing.T) {
			p := newPair(t, "git branch topic")
			p.in(p.host, "git branch -q -f topic $(git commit-tree -m topic -p HEAD HEAD^{tree}); git branch holds topic; echo host >>b; git commit -qam host; git pack-refs --all")
			p.in(p.guest, hide+"echo guest >>a; git add a; "+guest)
			want := p.in(p.host, "git rev-parse main topic")
			plan := p.plan()
			if err := p.carryOut(plan); err != nil {
				t.Fatal(err)
			}
			if got := p.in(p.host, "git rev-parse main topic"); got != want {
				t.Errorf("%s, not %s: %q, %q", got, want, plan.Refs, plan.Conflicts)
			}
			if got := strings.TrimSpace(p.in(p.host, "git for-each-ref --format='%(refname:short)' '*.art' 'refs/heads/*.art'")); got != aside {
				t.Errorf("%q, not %q: %q", got, aside, plan.Conflicts)
			}
			h, _ := plan.h.at("refs/heads/main")
			if g, ok := plan.g.at("refs/heads/main", plan.h); ok && aside != "" {
				if may, err := plan.mayMove("refs/heads/main", h, g.id); may || err != nil {
					t.Error(may, err)
				}
			}
		})
	}
}

// TestRewritten has the guest put other commits in the place of the host's, in each way in which git does that, and the host pack its own
// meanwhile. They come.
func TestRewritten(t *testing.T) {
	for _, how := range []string{
		"git commit -q --amend -m amended", "git reset -q --hard HEAD~", "git reset -q --hard HEAD~; git commit -q --allow-empty -m other",
		"git switch -q -c up HEAD~; git commit -q --allow-empty -m up; git switch -q main; git rebase -q up",
		"git switch -q -c up HEAD~; git commit -q --allow-empty -m up; git branch -q -f main up",
		"git switch -q -c up HEAD~; git commit -q --allow-empty -m up; git switch -q -C main",
		"git update-ref refs/heads/main $(git commit-tree -m made HEAD^{tree})",
	} {
		p := newPair(t, "")
		p.in(p.guest, how)
		p.in(p.host, "git gc -q")
		plan := p.plan()
		if err := p.carryOut(plan); err != nil {
			t.Fatal(err)
		}
		if h, g := p.in(p.host, "git rev-parse main"), p.in(p.guest, "git rev-parse main"); h != g || len(plan.Conflicts) > 0 {
			t.Errorf("%s: %s, not %s: %q", how, h, g, plan.Conflicts)
		}
	}
}
