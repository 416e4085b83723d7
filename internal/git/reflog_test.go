package git

import "testing"

// TestReflogOfHead has the guest's commits come in several ways. The last line of HEAD's reflog is always of what HEAD is.
func TestReflogOfHead(t *testing.T) {
	const commit = "echo g >g; git add g; git commit -qm g"
	for name, test := range map[string][2]string{
		"alone":    {commit, ""},
		"both":     {commit, "echo h >>c; git commit -qam h"},
		"staged":   {commit, "echo h >>c; git add c"},
		"switched": {"git switch -qc third; " + commit, ""},
		"away":     {commit, "git switch -qc other"},
		"back":     {commit + "; git reset -q --hard HEAD~1", "echo h >>c; git commit -qam h"},
		"detached": {"git checkout -q --detach; " + commit, "git commit -q --allow-empty -m h"},
	} {
		p := newPair(t, "")
		p.in(p.guest, test[0])
		p.in(p.host, test[1])
		if err := p.carryOut(p.plan()); err != nil {
			t.Error(err)
		}
		if out := p.in(p.host, `test "$(git rev-parse HEAD)" = "$(git rev-parse HEAD@{0})" || git reflog`); out != "" {
			t.Errorf("%s: %s", name, out)
		}
	}
}
