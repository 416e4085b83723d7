package git

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair is a repository that the host and the guest have, each with a copy of its own, and what it was.
type pair struct {
	*testing.T
	dir, host, guest, base string
}

// newPair makes a repository of two commits with the files a, b and c, of which both sides have the second.
func newPair(t *testing.T, prepare string) *pair {
	p := &pair{T: t, dir: t.TempDir()}
	p.host, p.guest, p.base = filepath.Join(p.dir, "host"), filepath.Join(p.dir, "guest"), filepath.Join(p.dir, "base")
	p.in(p.dir, `git init -q -b main host; cd host; for i in a b c; do echo $i >$i; done; git add .; git commit -qm first
echo more >>c; git commit -qam second
`+prepare+`
cd ..; cp -a host guest; cp -a host base`)
	return p
}

// in runs a script in a directory and returns what it prints.
func (p *pair) in(dir, script string) string {
	p.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}

// plan plans what comes to the host.
func (p *pair) plan() *Plan {
	p.Helper()
	return p.planFor(p.guestDir(), false)
}

// planFor plans what comes to the host of a guest.
func (p *pair) planFor(guest Guest, force bool) *Plan {
	p.Helper()
	dir, err := os.Open(p.host + "/.git")
	if err != nil {
		p.Fatal(err)
	}
	plan, err := New(p.Context(), Options{Host: dir, Guest: guest, Force: force})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { plan.Close(); dir.Close() })
	return plan
}

func (p *pair) guestDir() guestDir {
	return guestDir{p.guest + "/.git", p.base + "/.git", p.host + "/.git"}
}

// carryOut does what is planned.
func (p *pair) carryOut(plan *Plan) error {
	p.Helper()
	if err := plan.Import(p.Context()); err != nil {
		p.Fatal(err)
	}
	return plan.Finish()
}

// guestDir is a git directory that the guest has all of.
type guestDir struct{ dir, base, host string }

func (g guestDir) List(dir string) (l Listing, err error) {
	list, err := os.ReadDir(filepath.Join(g.dir, dir))
	if err != nil {
		return l, fs.ErrNotExist
	}
	for _, e := range list {
		l.Own = append(l.Own, Entry{e.Name(), e.IsDir()})
	}
	l.Opaque = true
	return l, nil
}

func (g guestDir) Open(at string) (File, error) {
	data, err := os.ReadFile(filepath.Join(g.dir, at))
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return memory{bytes.NewReader(data)}, nil
}

func (g guestDir) Same(at string) (host, guest bool) {
	was, _ := os.ReadFile(filepath.Join(g.base, at))
	h, _ := os.ReadFile(filepath.Join(g.host, at))
	is, _ := os.ReadFile(filepath.Join(g.dir, at))
	return bytes.Equal(was, h), bytes.Equal(was, is)
}

func (g guestDir) Changed(at string) time.Time {
	st, err := os.Stat(filepath.Join(g.dir, at))
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// Since is when the guest's copy was made.
func (g guestDir) Since(at string) (time.Time, bool) {
	st, err := os.Stat(g.base)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(0, st.Sys().(*syscall.Stat_t).Ctim.Nano()), true
}

func (g guestDir) Brought(string) []byte { return nil }

var _ io.ReaderAt = memory{}

// TestLocked has a lock of git's held while each kind of thing is to move. Nothing is said to have moved, no reflog
// tells the next plan that it had, and that one brings it.
func TestLocked(t *testing.T) {
	for _, lock := range []string{"index", "HEAD", "refs/heads/main", "refs/heads/other", "refs/stash", "packed-refs"} {
		t.Run(lock, func(t *testing.T) {
			p := newPair(t, "git branch other; git branch gone; git pack-refs --all")
			guest := "echo new >n; git add n; git commit -qm new; git branch -f other; git branch -q -D gone; git tag new; echo x >>a; git stash -q; git switch -q -c third"
			p.in(p.guest, guest)
			p.in(p.host, "touch .git/"+lock+".lock")
			before := p.in(p.host, "git show-ref; git diff --cached --name-status")
			plan := p.plan()
			planned := len(plan.Refs)
			if err := p.carryOut(plan); err == nil {
				t.Fatal("no error")
			}
			if len(plan.Refs) == planned && plan.Head != "" && plan.stash != nil {
				t.Error("all of it is said to have moved")
			}
			after := p.in(p.host, "git show-ref; git diff --cached --name-status")
			for _, c := range plan.Refs {
				if is := strings.Contains(after, c.New.String()+" "+c.Name+"\n"); is == c.Deleted() {
					t.Errorf("%s is said to have moved\n%s", c, after)
				}
			}
			if lock == "index" || lock == "refs/heads/main" || lock == "HEAD" {
				if strings.Contains(after, "A\tn") || slices.ContainsFunc(plan.Refs, func(c RefChange) bool { return c.Name == "refs/heads/main" }) {
					t.Errorf("a part of the checkout has moved\n%s\n%s", before, after)
				}
			}
			p.in(p.host, "rm .git/"+lock+".lock")
			if err := p.carryOut(p.plan()); err != nil {
				t.Fatal(err)
			}
			const state = "git show-ref --head; git diff --cached --name-status; git stash list; git symbolic-ref HEAD"
			if h, g := p.in(p.host, state), p.in(p.guest, state); h != g {
				t.Errorf("host:\n%s\nguest:\n%s", h, g)
			}
		})
	}
}

// TestIndexAsCommit has the guest stage what it has nowhere else, while the host makes a commit.
func TestIndexAsCommit(t *testing.T) {
	p := newPair(t, "mkdir d; echo d >d/d; git add d; git commit -qm third")
	p.in(p.guest, "echo v2 >d/d; chmod +x a; git add .; git rm -q --cached b; echo only >d/only; git add d; rm d/only; ln -s a d/link; git add d/link")
	want := p.in(p.guest, "git write-tree")
	p.in(p.host, "echo host >>c; git commit -qam host")
	for range 2 { // the second plan finds it done
		plan := p.plan()
		if err := p.carryOut(plan); err != nil {
			t.Fatal(err)
		}
		if !plan.HeadStays || plan.Kept || plan.Obsolete("index") != All || plan.Obsolete("objects") != All {
			t.Errorf("%+v", plan)
		}
	}
	if out := p.in(p.host, "git fsck --strict; git rev-parse main.art^{tree}"); out != want {
		t.Errorf("%s, not %s", out, want)
	}
	if out := p.in(p.host, "git rev-parse main.art^ main^ | uniq; git for-each-ref | wc -l; git status --short"); strings.Count(out, "\n") != 2 {
		t.Error(out)
	}
}
