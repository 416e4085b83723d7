package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPackIndexAppearsWhole has the disk fail when a pack's index is written: git would complain about a part of one at
// every command. The next plan brings all.
func TestPackIndexAppearsWhole(t *testing.T) {
	defer func() { fsync = (*os.File).Sync }()
	p := newPair(t, "")
	p.in(p.guest, "i=0; while [ $i -lt 1100 ]; do echo $i >f$i; i=$((i+1)); done; git add .; git commit -qm many")
	plan := p.plan()
	fsync = func(f *os.File) error {
		if strings.Contains(f.Name(), "idx") {
			return unix.EIO
		}
		return f.Sync()
	}
	if err := plan.Import(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if list, _ := filepath.Glob(p.host + "/.git/objects/pack/*.idx"); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
	fsync = (*os.File).Sync
	if err := p.carryOut(p.plan()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(p.host + "/.git/objects/pack/tmp_*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if out := p.in(p.host, "git fsck --strict 2>&1; git log -1 --format=%s"); out != "many\n" {
		t.Error(out)
	}
}

// TestShallowComesFirst has the list of commits without parents not be written: then no object comes either, since the
// next plan takes what is there for whole.
func TestShallowComesFirst(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "git clone -q --depth 1 file://$PWD ../shallow; rm -rf .git; cp -a ../shallow/.git .; git reset -q --hard; echo x >a; git commit -qam more")
	p.in(p.dir, "git init -q other; cd other; echo a >a; git add a; git commit -qm other; rm -rf ../host/.git ../base/.git; cp -a .git ../host; cp -a .git ../base; touch ../host/.git/shallow.lock")
	before := p.in(p.host, "git show-ref")
	if err := p.plan().Import(t.Context()); err == nil {
		t.Error("no error")
	}
	if after := p.in(p.host, "git show-ref; git fsck --strict"); after != before {
		t.Errorf("it was %s, and is %s", before, after)
	}
	p.in(p.host, "rm .git/shallow.lock")
	if err := p.carryOut(p.plan()); err != nil {
		t.Fatal(err)
	}
	p.in(p.host, "git fsck --strict; git rev-list --all")
}

// TestFinishIsDurable has a write error come up when references have moved: what the guest has must stay then.
func TestFinishIsDurable(t *testing.T) {
	defer func() { syncfs = unix.Syncfs }()
	p := newPair(t, "")
	p.in(p.guest, "echo x >a; git commit -qam more")
	plan := p.plan()
	if err := plan.Import(t.Context()); err != nil {
		t.Fatal(err)
	}
	syncfs = func(int) error {
		if out := p.in(p.host, "git log -1 --format=%s"); out != "more\n" {
			t.Errorf("before references have moved: %s", out)
		}
		return unix.EIO
	}
	if err := plan.Finish(); err == nil {
		t.Error("no error")
	}
}

// stopping is a context that ends at the n-th look at it.
type stopping struct {
	context.Context
	left *int
}

func (s stopping) Err() error {
	if *s.left--; *s.left < 0 {
		return context.Canceled
	}
	return nil
}

// whole makes sure that all that an object of the host's refers to is there too.
func (p *pair) whole() {
	p.Helper()
	p.in(p.host, "git cat-file --batch-all-objects --batch-check='%(objectname)' | xargs git rev-list --objects >/dev/null; git fsck --strict 2>&1 | grep -v ^dangling && exit 1 || true")
}

// TestImportStops has an import end at each object. What is on the host then is whole, and the next one brings the rest.
func TestImportStops(t *testing.T) {
	for n, ended := 0, false; !ended; n++ {
		p := newPair(t, "")
		p.in(p.guest, "mkdir -p d/e; echo x >d/e/x; echo y >y; git add .; git commit -qm one; echo more >>y; git tag -a -m x t; git commit -qam two; git switch -q -c side; git mv y d/y; git commit -qm side")
		plan := p.plan()
		left := n
		err := plan.Import(stopping{p.Context(), &left})
		if ended = err == nil; !ended && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		p.whole()
		if tmp, _ := filepath.Glob(p.host + "/.git/objects/pack/tmp_*"); len(tmp) > 0 {
			t.Errorf("left behind: %v", tmp)
		}
		if err := p.carryOut(p.plan()); err != nil {
			t.Fatal(err)
		}
		p.whole()
		const state = "git show-ref --head; git log --all --format=%H"
		if h, g := p.in(p.host, state), p.in(p.guest, state); h != g {
			t.Errorf("host:\n%s\nguest:\n%s", h, g)
		}
	}
}

// TestImportOfDamaged has each object of the guest's be damaged. Nothing comes that refers to it.
func TestImportOfDamaged(t *testing.T) {
	for n, last := 0, 1; n < last; n++ {
		p := newPair(t, "")
		p.in(p.guest, "echo x >x; git add x; git commit -qm one; git rm -q x; mkdir d; echo y >d/y; git add d; git commit -qm two")
		files := strings.Fields(p.in(p.guest, "find .git/objects -type f | sort >../g; cd ../host; find .git/objects -type f | sort >../h; comm -23 ../g ../h"))
		last = len(files)
		p.in(p.guest, "chmod u+w "+files[n]+"; echo junk >"+files[n])
		refs := p.in(p.host, "git show-ref --head")
		for range 2 {
			plan := p.plan()
			if err := plan.Import(p.Context()); err == nil && !plan.Left {
				t.Errorf("%s: no error", files[n])
			}
			p.whole()
			if plan.Left {
				plan.Finish()
			}
		}
		if now := p.in(p.host, "git show-ref --head"); now != refs {
			t.Errorf("%s\n%s", refs, now)
		}
	}
}

// TestImportIsCutOff has one of the two files that hold what was imported be gone, as a power cut may leave it. The next
// import brings them again.
func TestImportIsCutOff(t *testing.T) {
	for _, gone := range []string{"pack", "idx"} {
		p := newPair(t, "")
		p.in(p.guest, "echo x >x; git add x; git commit -qm one")
		if err := p.plan().Import(p.Context()); err != nil {
			t.Fatal(err)
		}
		p.in(p.host, "rm .git/objects/pack/*."+gone)
		if err := p.carryOut(p.plan()); err != nil {
			t.Fatal(err)
		}
		p.whole()
		p.in(p.host, "git cat-file -e main:x")
	}
}

// TestImportMakesDirectories has the guest keep its objects, since it has a worktree of its own. What the host makes
// later must not be hidden by directories that only the guest has.
func TestImportMakesDirectories(t *testing.T) {
	p := newPair(t, "")
	p.in(p.guest, "git worktree add -q -b side ../side; echo g >g; git add g; git commit -qm g")
	plan := p.plan()
	if err := p.carryOut(plan); err != nil {
		t.Fatal(err)
	}
	for _, id := range plan.closure.want {
		if _, err := os.Stat(filepath.Join(p.host, ".git/objects", id.String()[:2])); err != nil {
			t.Error(err)
		}
	}
	p.whole()
}
