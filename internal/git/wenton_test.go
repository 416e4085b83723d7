package git

import (
	"fmt"
	"testing"
)

// TestHostWentOn has the guest switch to another branch. HEAD and the index follow unless the host has another commit checked out since.
func TestHostWentOn(t *testing.T) {
	const commit = "echo g >g; git add g; git commit -qm guest"
	for name, c := range map[string]struct {
		guest, host string
		follows     bool
	}{
		"nothing": {"git switch -qc agent; " + commit, "", true},
		"commit":  {"git switch -qc agent; " + commit, "echo h >>b; git rm -q c; git commit -qam host", false},
		"amend":   {"git switch -qc agent; " + commit, "git commit -q --amend -m amended", false},
		"older":   {"git switch -q old; " + commit, "echo h >>b; git commit -qam host", false},
		"looked":  {"git switch -qc agent; " + commit, "git switch -q old; git switch -q main", true},
		"twice":   {"git switch -qc agent; " + commit, "git checkout -q HEAD~1; git switch -q -c new; git commit -q --allow-empty -m new; git switch -q main", true},
		"came":    {"git switch -qc agent; " + commit, "git commit -q --allow-empty -m host; git switch -q old; git switch -q main", false},
		"joined":  {"git switch -qc agent; " + commit + "; git fetch -q ../host; git merge -q -m joined FETCH_HEAD", "echo h >>b; git commit -qam host", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, "git branch old HEAD~1")
			if name == "joined" {
				p.in(p.host, c.host)
				c.host = ""
			}
			p.in(p.guest, c.guest)
			p.in(p.host, c.host)
			was := p.in(p.host, "git symbolic-ref HEAD; git rev-parse HEAD; git ls-files -s")
			plan := p.plan()
			if err := p.carryOut(plan); err != nil {
				t.Fatal(err)
			}
			guest, host := p.in(p.guest, "git symbolic-ref HEAD; git rev-parse HEAD; git ls-files -s"), p.in(p.host, "git symbolic-ref HEAD; git rev-parse HEAD; git ls-files -s")
			if c.follows && host != guest || !c.follows && host != was || len(plan.Conflicts) > 0 || plan.HeadStays == c.follows {
				t.Errorf("%s: %s %q", host, fmt.Sprint(plan.Refs), plan.Conflicts)
			}
			if got, want := p.in(p.host, "git rev-parse "+p.in(p.guest, "git branch --show-current")), p.in(p.guest, "git rev-parse HEAD"); got != want {
				t.Errorf("the guest's branch is %s, not %s", got, want)
			}
		})
	}
}
