package git

import (
	"strings"
	"testing"
)

// TestTagsStay has both sides make a tag of one name. The host's is not moved, not even forward.
func TestTagsStay(t *testing.T) {
	for guest, host := range map[string]string{
		"git commit -q --allow-empty -m g; git tag v": "git tag v",                                     // the guest's is newer
		"git tag v HEAD~1":                            "git tag v",                                     // the host's is
		"git tag -a -m g v":                           "git commit -q --allow-empty -m h; git tag v",   // an annotated one
		"git tag -f moved HEAD~1; git tag v HEAD~1":   "git commit -q --allow-empty -m h; git tag v",   // and one that the guest alone has moved
		"git update-ref refs/notes/n HEAD; git tag v": "git update-ref refs/notes/n HEAD; git tag v x", // they have the same
	} {
		p := newPair(t, "git tag moved; git tag x HEAD~1")
		p.in(p.guest, guest)
		p.in(p.host, host)
		before := p.in(p.host, "git rev-parse v")
		plan := p.plan()
		if err := p.carryOut(plan); err != nil {
			t.Error(err)
		}
		want := before + p.in(p.guest, "git rev-parse v moved")
		if out := p.in(p.host, "git rev-parse v v.art moved"); out != want || !strings.Contains(strings.Join(plan.Conflicts, "\n"), "the guest's is v.art") {
			t.Errorf("%s: %s, not %s: %q", guest, out, want, plan.Conflicts)
		}
	}
}
