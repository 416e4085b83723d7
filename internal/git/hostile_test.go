package git

import (
	"strings"
	"testing"
)

// TestHostileReferences has the guest make references that git would not. The host's repository stays one that git
// finds nothing wrong with.
func TestHostileReferences(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, `cd .git; mkdir -p refs/remotes/origin refs/remotes/good
git rev-parse HEAD^{tree} >refs/heads/tree; git rev-parse HEAD:a >refs/heads/blob; git rev-parse HEAD >refs/heads/HEAD; cp refs/heads/HEAD refs/heads/good
echo ref: refs/remotes/origin/gone >refs/remotes/origin/HEAD
echo ref: refs/remotes/good/main >refs/remotes/good/HEAD; cp refs/heads/good refs/remotes/good/main`)
	plan := p.plan()
	if err := p.carryOut(plan); err != nil {
		t.Error(err)
	}
	if out := p.in(p.host, "git fsck --strict 2>&1; git for-each-ref --format='%(refname)'"); out != "refs/heads/good\nrefs/heads/main\nrefs/remotes/good/HEAD\nrefs/remotes/good/main\n" {
		t.Error(out)
	}
	for _, name := range []string{"tree", "blob", "refs/heads/HEAD"} {
		if !strings.Contains(strings.Join(plan.Conflicts, "\n"), name) {
			t.Errorf("nothing is said of %s: %q", name, plan.Conflicts)
		}
	}
}
