package reconcile

import (
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/sqlvfs"
)

// Push takes a repository as files, as long as the guest has not changed it since both agreed: then it becomes
// the host's. Of one that both have changed, only objects are added, so that it never has new references with
// an old index; pull joins the two.

// gitKeeps reports whether a file of git's stays what it is in the guest.
func (p *pusher) gitKeeps(f *found) bool {
	dir, in := p.gitDir(f.at)
	if in == "" || !git.Owns(in) || p.opt.Force || f.left {
		return false
	}
	if p.lockedGit(f, dir) {
		return true
	}
	touched := p.gitTouched(dir)
	if strings.HasPrefix(in, "objects/") || strings.HasPrefix(in, "info/") {
		return f.decision.Conflict() || touched && f.there == 0
	}
	if !touched {
		return unchanging(in) && f.decision.Conflict()
	}
	d := f.decision
	if (d.Push() || d.Conflict()) && f.there != 0 && (in == "HEAD" || in == "packed-refs" || strings.HasPrefix(in, "refs/")) && p.bothGit[dir] == gitChanged {
		p.bothGit[dir] = gitReported
		p.report.Stays(p.guestPath(dir), "both sides have changed the repository: pull first, which joins them")
	}
	return d.Push() || d.Conflict() || d.Kind == classify.Host
}

// gitLock reports whether a file says that git works in a repository of the host now. The guest sees it for as long as it is there.
func (p *pusher) gitLock(rel string) bool {
	if !strings.HasSuffix(rel, ".lock") {
		return false
	}
	_, in := p.gitDir(rel)
	return in != "" && git.Owns(in)
}

// unchanging reports whether a file of git's alone says nothing of what a repository is: logs beside those of stashes,
// which are a list, and worktrees, which each side has for itself.
func unchanging(in string) bool {
	return strings.HasPrefix(in, "logs/") && in != "logs/refs/stash" || strings.HasPrefix(in, "worktrees/")
}

// What is known of a repository during a push.
const (
	gitUnknown  = iota
	gitSame     // the guest has not changed it
	gitChanged  // it has
	gitReported // and the host too, which was reported
)

// gitTouched reports whether the guest has changed a repository, but for its objects.
func (p *pusher) gitTouched(dir string) bool {
	if p.bothGit == nil {
		p.bothGit = map[string]int{}
	}
	if p.bothGit[dir] == gitUnknown {
		p.bothGit[dir] = gitSame
		if n, _ := p.node(dir); n != nil && p.gitChangedBelow(dir, dir, n, 0) {
			p.bothGit[dir] = gitChanged
		}
	}
	return p.bothGit[dir] != gitSame
}

func (p *pusher) gitChangedBelow(dir, at string, n *sqlvfs.Node, depth int) bool {
	if !n.Attr.IsDir() || depth > 64 {
		return false
	}
	counts := func(rel string) bool {
		in := strings.TrimPrefix(rel, dir+"/")
		return git.Owns(in) && !unchanging(in) && !strings.HasPrefix(in, "objects") && !strings.HasPrefix(in, "info/") && !strings.HasSuffix(in, ".lock") && in != "gc.pid"
	}
	removed := func(name string) bool { // a whiteout stays below an entry that was made anew
		rel := join(at, name)
		return counts(rel) && p.base[rel] != nil && p.tree.Child(n, name) == nil
	}
	if slices.ContainsFunc(n.Whiteouts, removed) {
		return true
	}
	for _, e := range n.Children {
		rel, c := join(at, e.Name), p.tree.Node(e.Ino)
		if !counts(rel) {
			continue
		}
		if c.Attr.IsDir() {
			if p.gitChangedBelow(dir, rel, c, depth+1) {
				return true
			}
			continue
		}
		a := &item{path: rel}
		a.has(c)
		// What a pull beside a session has made of it on the host has other times, and an index another size.
		if a.was = p.baselineOf(a); p.guestWrote(a) && !p.equalToHost(a) {
			return true
		}
	}
	return false
}

// equalToHost reports whether the host has what the guest has.
func (p *pusher) equalToHost(a *item) bool {
	st, err := p.host.stat(a.path)
	if err != nil {
		return false
	}
	p.meet(a, &st)
	same, err := p.equalContent(a)
	return err == nil && same
}
