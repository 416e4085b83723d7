package git

import (
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
