package git

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDeletedReferences has the guest delete references of each kind. Those whose commits nothing else holds stay, and
// nothing that references held is held by none.
func TestDeletedReferences(t *testing.T) {
	p := newPair(t, `
other() { git commit-tree -m "$1" -p HEAD HEAD^{tree}; }
git tag kept; git branch merged HEAD~1; git tag -a -m x annotated
git tag light $(other light); git tag -a -m x heavy $(other heavy); git branch branch $(other branch)
git update-ref refs/remotes/o/x $(other remote); git notes add -m note
git branch twin $(other twin); git tag twin twin
git switch -q -c was; git commit -q --allow-empty -m was; git switch -q main`)
	const held = "git rev-list --all | sort"
	before := p.in(p.host, held)
	p.in(p.guest, "git tag -d kept annotated light heavy twin; git branch -q -D merged branch twin was; git update-ref -d refs/remotes/o/x; git update-ref -d refs/notes/commits")
	plan := p.plan()
	if err := p.carryOut(plan); err != nil {
		t.Fatal(err)
	}
	if after := p.in(p.host, held); after != before {
		t.Errorf("held before:\n%s\nand after:\n%s", before, after)
	}
	if got := p.in(p.host, "git for-each-ref --format='%(refname)'"); strings.Contains(got, "kept") || strings.Contains(got, "merged") || strings.Contains(got, "annotated") {
		t.Error(got)
	}
	for _, want := range []string{"heavy, whose commits nothing else holds: it stays; git tag -d heavy deletes it", "git branch -D branch deletes it", "git branch -D was deletes it", "git update-ref -d refs/notes/commits deletes it"} {
		if !slices.ContainsFunc(plan.Conflicts, func(c string) bool { return strings.Contains(c, want) }) {
			t.Errorf("%q is not told: %q", want, plan.Conflicts)
		}
	}
}

// TestPlansAreTheSame plans with many branches several times.
func TestPlansAreTheSame(t *testing.T) {
	p := newPair(t, `
for i in $(seq 120); do git branch b$i $(git commit-tree -m $i -p HEAD HEAD^{tree}); done
git branch held $(git commit-tree -m held -p HEAD HEAD^{tree}); git branch holds $(git commit-tree -m holds -p held HEAD^{tree})
git pack-refs --all`)
	p.in(p.guest, "git branch -q -D held; for i in $(seq 110 120); do git branch -q -f b$i $(git commit-tree -m guest -p HEAD HEAD^{tree}); done")
	p.in(p.host, "for i in $(seq 110 120); do git branch -q -f b$i $(git commit-tree -m host -p HEAD HEAD^{tree}); done")
	first := ""
	for range 4 {
		plan := p.plan()
		said := fmt.Sprint(plan.Refs, plan.Conflicts)
		if first == "" {
			first = said
		}
		if said != first || !strings.Contains(said, "held deleted") {
			t.Fatalf("%s\nand then\n%s", first, said)
		}
	}
}

// TestOneChangeOfOneName has the guest have a branch of the name that its main would come under.
func TestOneChangeOfOneName(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "git branch main.art $(git commit-tree -m art -p HEAD HEAD^{tree}); echo guest >>a; git commit -qam guest")
	p.in(p.host, "echo host >>b; git commit -qam host")
	plan := p.plan()
	if err := p.carryOut(plan); err != nil {
		t.Fatal(err)
	}
	if got := p.in(p.host, "git log -1 --format=%s main.art; git log -1 --format=%s main.art2; git log -1 --format=%s"); got != "art\nguest\nhost\n" {
		t.Error(got)
	}
	if got := p.in(p.host, "git rev-parse HEAD HEAD@{0} | uniq | wc -l; git reflog --format=%gs"); !strings.HasPrefix(got, "1\n") || !strings.Contains(got, ": guest\n") {
		t.Errorf("HEAD's reflog: %s", got)
	}
}

// sameGuest says of each path that neither side has changed what the host has.
type sameGuest struct{ Guest }

func (g sameGuest) Same(at string) (host, guest bool) {
	_, guest = g.Guest.Same(at)
	return true, guest
}

// TestHostsCommitsStay has the host be taken for what both agreed about, though the guest has never had its commit, when
// the plan is made and when it is carried out.
func TestHostsCommitsStay(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "echo guest >>a; git commit -qam guest")
	p.in(p.host, "echo host >>b; git commit -qam host")
	plan := p.planFor(sameGuest{p.guestDir()}, false)
	if err := p.carryOut(plan); err != nil {
		t.Fatal(err)
	}
	if got := p.in(p.host, "git log -1 --format=%s main; git log -1 --format=%s main.art"); got != "host\nguest\n" || len(plan.Conflicts) == 0 {
		t.Errorf("%s%q", got, plan.Conflicts)
	}
	for at, want := range map[string]bool{"refs/heads/main": false, "index": false, "HEAD": true} {
		if plan.Agreed(at) != want {
			t.Errorf("%s agreed: %v", at, !want)
		}
	}
	h, _ := plan.h.at("refs/heads/main")
	g, _ := plan.g.at("refs/heads/main", plan.h)
	c := RefChange{Name: "refs/heads/main", Old: h.id, New: g.id, was: h}
	if err := plan.atomically(func(t *transaction) error { return plan.move(t, c) }); !errors.Is(err, errUnseen) {
		t.Error(err)
	}
}

// goneBack says of each path that a pull has left a commit on the host there, and that the guest has then gone back.
type goneBack struct {
	Guest
	brought []byte
	host    bool // the host has what was left
}

func (g goneBack) Same(string) (host, guest bool) { return g.host, false }
func (g goneBack) Brought(string) []byte          { return g.brought }

// TestGoneBack has the guest go back to before what it had brought to the host, of which the host may have made another commit since. The
// branch stays on the host with its index, and in the guest; by force it goes back.
func TestGoneBack(t *testing.T) {
	for _, since := range []string{"", "echo host >>b; git commit -qam host", "git commit -q --amend -m amended", "git pack-refs --all; git commit -q --allow-empty -m host"} {
		t.Run(since, func(t *testing.T) {
			p := newPair(t, "")
			p.in(p.host, "echo more >>a; git commit -qam third; git branch topic")
			id, _ := parseID(strings.TrimSpace(p.in(p.host, "git rev-parse main")))
			p.in(p.host, since)
			for _, force := range []bool{false, true} {
				touched := p.goBack(goneBack{p.guestDir(), sumOf(id), since == ""}, force)
				if topic := slices.Contains(touched, "refs/heads/topic") && slices.Contains(touched, "logs/refs/heads/topic"); since == "" && topic == force {
					t.Errorf("force %v: %q", force, touched)
				}
			}
		})
	}
}

// TestResetBehind has the guest reset its branch, and the host make a commit upon what the guest does not want any more.
func TestResetBehind(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "git reset -q --hard HEAD~1")
	p.in(p.host, "echo host >>b; git commit -qam host")
	for _, force := range []bool{false, true} {
		p.goBack(p.guestDir(), force)
	}
}

// TestJoined has the host join what the guest has committed to what it has itself: nothing of the guest's is left to come.
func TestJoined(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "echo guest >>a; git commit -qam guest")
	p.in(p.host, "echo host >>b; git commit -qam host; git fetch -q ../guest main; git merge -q -m joined FETCH_HEAD")
	plan := p.plan()
	if err := p.carryOut(plan); err != nil {
		t.Fatal(err)
	}
	if got := p.in(p.host, "git log -1 --format=%s"); got != "joined\n" || len(plan.Conflicts) > 0 || plan.Kept {
		t.Errorf("%s%q", got, plan.Conflicts)
	}
}

// goBack plans and does a pull of a guest that has gone back to a commit that is older than the host's, and returns what the plan touches.
func (p *pair) goBack(guest Guest, force bool) (touched []string) {
	p.Helper()
	plan := p.planFor(guest, force)
	const state = "git rev-parse main; git ls-files -s"
	before := p.in(p.host, state)
	touched = plan.Touched()
	if err := p.carryOut(plan); err != nil {
		p.Fatal(err)
	}
	after := p.in(p.host, state)
	told := slices.ContainsFunc(plan.Conflicts, func(c string) bool { return strings.HasPrefix(c, "main: the guest has gone back to ") })
	if moved := slices.Contains(touched, "refs/heads/main") && slices.Contains(touched, "index"); moved != force || told == force || plan.Kept == force {
		p.Errorf("force %v: %q, %q, kept %v", force, touched, plan.Conflicts, plan.Kept)
	}
	if !force && before != after || force && after != p.in(p.guest, state) {
		p.Errorf("force %v: %s\nand then\n%s", force, before, after)
	}
	if got := plan.Obsolete("refs/heads/main"); (got == All) != force {
		p.Errorf("force %v: what is done with of the guest's branch: %v", force, got)
	}
	return touched
}
