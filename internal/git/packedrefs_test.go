package git

import (
	"os"
	"testing"
	"time"
)

// ownRefs says of the directories of references, and of reflogs, that the guest has none but what it has changed itself.
type ownRefs struct{ guestDir }

func (g ownRefs) Changed(at string) time.Time {
	if at == "refs/tags" {
		return time.Time{}
	}
	return g.guestDir.Changed(at)
}

func (g ownRefs) Since(at string) (time.Time, bool) {
	if _, err := os.Stat(g.base + "/" + at); err != nil {
		return time.Time{}, true
	}
	return g.guestDir.Since(at)
}

func (g ownRefs) Open(at string) (File, error) {
	if _, guest := g.Same(at); guest {
		return nil, os.ErrNotExist
	}
	return g.guestDir.Open(at)
}

// TestPackedOnBothSides has both sides write packed-refs anew, each without what it has deleted, and with what it has made.
func TestPackedOnBothSides(t *testing.T) {
	p := newPair(t, `for b in a b c; do git branch $b; git tag t$b; done; git pack-refs --all; rm -rf .git/refs/tags/*`)
	p.in(p.guest, `git branch -q -D a; git branch guest; git branch -q -f c HEAD~1; git branch unseen $(git commit-tree -m new -p HEAD HEAD^{tree}); git pack-refs --all`)
	p.in(p.host, `git branch -q -D b; git tag -d tb; git branch host; git pack-refs --all`)
	plan := p.planFor(ownRefs{p.guestDir()}, false)
	if err := p.carryOut(plan); err != nil {
		t.Fatal(err)
	}
	const names = "git for-each-ref --format='%(refname:short)' | tr '\\n' ' '; git rev-parse c unseen"
	want := "c guest host main unseen ta tc " + p.in(p.guest, "git rev-parse c unseen")
	if got := p.in(p.host, names); got != want || len(plan.Conflicts) > 0 {
		t.Errorf("%s, not %s: %q, %q", got, want, plan.Refs, plan.Conflicts)
	}
}
