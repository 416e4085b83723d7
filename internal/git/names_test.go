package git

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamesClash has the guest make references whose names are directories of the host's, and the other way round. Those
// come under other names, as planned, HEAD stays where it can be, and nothing is left behind.
func TestNamesClash(t *testing.T) {
	for n, test := range []struct{ guest, host, arts, stays string }{
		{"git switch -qc feature; echo g >g; git add g; git commit -qm g", "git branch feature/one", "feature.art", "feature/one main"},
		{"git switch -qc feature; echo g >g; git add g; git commit -qm g", "git branch feature/one; git pack-refs --all", "feature.art", "feature/one main"},
		{"git branch feature/one/two", "git branch feature", "feature.art/one/two", "feature main"},
		{"git commit -qm g --allow-empty", "git commit -qm h --allow-empty; git branch main.art/x", "main.art2", "main main.art/x"},
		{"git commit -qm g --allow-empty; git branch main.art/x", "git commit -qm h --allow-empty", "main.art2", "main main.art/x"},
		{"git checkout -q --orphan feature", "git branch feature/one", "", "feature/one main"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newPair(t, "")
			p.in(p.guest, test.guest)
			p.in(p.host, test.host)
			plan := p.plan()
			if err := p.carryOut(plan); err != nil {
				t.Error(err)
			}
			want := strings.Fields(test.stays + " " + test.arts)
			for _, name := range strings.Fields(p.in(p.host, "git for-each-ref --format='%(refname:short)' refs/heads")) {
				if !strings.Contains(" "+strings.Join(want, " ")+" ", " "+name+" ") {
					t.Errorf("%s is there", name)
				}
			}
			for _, name := range want {
				p.in(p.host, "git rev-parse -q --verify refs/heads/"+name)
			}
			if test.arts != "" && len(plan.Conflicts) == 0 {
				t.Error("no conflict")
			}
			if out := p.in(p.host, "git fsck --strict 2>&1; git symbolic-ref HEAD; git status --porcelain; find .git -name 'tmp_*' -o -name '*.lock'"); out != "refs/heads/main\n" {
				t.Errorf("%s%q", out, plan.Conflicts)
			}
		})
	}
}

// TestNamesMakeWay has the guest replace a reference by one below its name, and the other way round.
func TestNamesMakeWay(t *testing.T) {
	p := newPair(t, "git branch a; git branch b/c; git branch d; git branch e/f; git pack-refs --all; git branch x; git branch y/z")
	p.in(p.guest, "git branch -m a a/b; git branch -m b/c b; git branch -m d d/e; git branch -m e/f e; git branch -m x x/y; git branch -m y/z y")
	if err := p.carryOut(p.plan()); err != nil {
		t.Error(err)
	}
	const state = "git for-each-ref; git fsck --strict"
	if h, g := p.in(p.host, state), p.in(p.guest, state); h != g {
		t.Errorf("host:\n%s\nguest:\n%s", h, g)
	}
}

// TestHeadOfNothing has the branch that the guest has switched to not be made.
func TestHeadOfNothing(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "git switch -qc third; echo n >n; git add n; git commit -qm n")
	p.in(p.host, "touch .git/refs/heads/third.lock")
	if p.carryOut(p.plan()) == nil {
		t.Error("no error")
	}
	if out := p.in(p.host, "git symbolic-ref HEAD; git status --porcelain; git reflog -1 --format=%gs"); out != "refs/heads/main\ncommit: second\n" {
		t.Error(out)
	}
}
