package git

import (
	"strings"
	"testing"
)

// TestHostLookedAround has the host's HEAD lead to another branch for a while: the guest, which sees that, commits upon it from its index of main.
// Both of its commits come, and nothing takes back what the other branch has.
func TestHostLookedAround(t *testing.T) {
	for name, first := range map[string]string{"first": "", "second": "echo g >g; git add g; git commit -qm G1; "} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, "git switch -q -c other; echo o >o; git add o; git commit -qm other; git switch -q main; sleep 1.1") // its reflog has whole seconds
			want := p.in(p.host, "git rev-parse other; git rev-parse main")
			p.in(p.guest, first+"echo ref: refs/heads/other >.git/HEAD; echo gg >>g; git add g; git commit -qm G2; echo ref: refs/heads/main >.git/HEAD")
			p.in(p.host, "git switch -q other; git switch -q main")
			plan := p.plan()
			if err := p.carryOut(plan); err != nil {
				t.Fatal(err)
			}
			if got := p.in(p.host, "git rev-parse other; git rev-parse main"); got != want {
				t.Errorf("%s, not %s: %v", got, want, plan.Refs)
			}
			want = p.in(p.guest, "git rev-parse other; git rev-parse main")
			if got := p.in(p.host, "git rev-parse other.art; git rev-parse -q --verify main.art || git rev-parse main"); got != want {
				t.Errorf("%s, not %s: %v", got, want, plan.Refs)
			}
			if got := strings.Join(plan.Conflicts, "\n"); !strings.Contains(got, "which takes back o: the guest's is other.art") {
				t.Error(got)
			}
		})
	}
}
