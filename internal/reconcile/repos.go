package reconcile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/sqlvfs"
)

// A git repository that both sides have is one thing: package git decides what becomes of it. What it
// understands of a git directory is no file to the rest of pull.

// repo is a repository that both sides have.
type repo struct {
	dir, top string      // its git directory, and what is checked out from it, below the workspace; "": nothing is
	dirs     [2]*os.File // of these, open
	plan     *git.Plan
	options  git.Options // of the plan
	err      error       // why there is none
	skipped  []string    // files that the guest has committed, and that do not belong to what the host has checked out
	done     bool        // what the guest had in it is on the host
	replaced bool        // only one side has the directory: that is left as it is too

	// Of one whose git directory is outside of the workspace, that is p.repos[external]:
	on     *planner // what reads its layer of the database; nil: it is in the workspace
	within string   // where the workspace is in what is checked out
}

// ofGit reports whether a path belongs to a repository, so that it is no file. Of one that is left as it is, all that is
// in its git directory does.
func (p *planner) ofGit(rel string) bool {
	dir, in := p.gitDir(rel)
	if dir == "" {
		return false
	}
	r := p.repoAt(dir)
	if r != nil && r.left() {
		return in != "" || r.replaced
	}
	return in != "" && git.Owns(in) && (r != nil || !p.limit.Has(dir))
}

// left reports whether a repository is left as it is, for another pull.
func (r *repo) left() bool { return r.plan == nil || r.plan.Left }

// repoAt returns the repository with a git directory that the guest has changed, or nil.
func (p *planner) repoAt(dir string) *repo {
	if r, ok := p.repos[dir]; ok {
		return r
	}
	if p.repos == nil {
		p.repos = map[string]*repo{}
	}
	if p.repoOf == nil {
		p.repoOf = map[string]*repo{}
	}
	p.repos[dir] = nil
	n, from := p.guestAt(dir)
	if from != "" || n != nil && !n.Attr.IsDir() || !p.limit.Has(dir) || p.filter.By(dir, true) != "" || p.live(join(dir, "HEAD")) {
		return nil
	}
	r := &repo{dir: dir}
	if r.err = p.atWork(dir); r.err != nil {
		p.repos[dir] = r
		return r
	}
	own := false
	if n != nil {
		own, r.err = p.ofHost(n, dir)
	}
	switch st, err := p.host.stat(dir); {
	case r.err != nil:
	case p.isRepo(dir) && n == nil && p.opt.allows(dir, true):
		return nil
	case p.isRepo(dir) && n == nil:
		r.err = errors.New("the guest has removed the repository")
	case p.isRepo(dir) && !own:
		r.err = errors.New("the guest has another repository there")
	case p.isRepo(dir):
		p.planRepo(r)
	case n != nil && err == nil && kind(st.Mode) != unix.S_IFDIR:
		r.err, r.replaced = errors.New("the guest has put a repository in the place of the file that leads to the host's"), true
	case n != nil && errors.Is(err, unix.ENOENT) && (own && p.sameTree || p.base[join(dir, "HEAD")] != nil):
		r.err, r.replaced = errors.New("the host has removed the repository"), true
	default:
		if n != nil {
			p.newRepos = append(p.newRepos, dir)
		}
		return nil // a new one, which comes as files
	}
	if up, name := parent(dir); name == ".git" && r.plan == nil {
		p.repoOf[up] = nil
	}
	p.repos[dir] = r
	return r
}

// ofHost reports whether the guest's directory at a path is the host's: it is laid over that, or was before all of it was brought into
// the database. That leaves a baseline, as does a directory that was removed, whose number another may have: that is younger.
func (p *planner) ofHost(n *sqlvfs.Node, at string) (is bool, err error) {
	if o := n.Origin; o != nil {
		return o.Base == p.name && o.Path == at, nil
	}
	b := p.base[at]
	if b == nil || b.Row != n.Ino {
		return false, nil
	}
	err = p.store.View(func(tx *sqlvfs.Tx) error {
		in, err := tx.Get(n.Ino)
		if err != nil {
			return err
		}
		defer tx.Put(in)
		born, known, err := tx.Birth(in)
		is = known && !born.Time().After(b.RowCtime.Time())
		return err
	})
	return is, p.opt.reading(err)
}

// limitTo takes the paths that the user named. What is git's own in a repository is none by itself: references without
// their objects, or without the index, are a broken repository.
func (p *planner) limitTo(workspace string) (err error) {
	if p.limit, err = selection.To(workspace, p.opt.Paths, p.knows); err != nil {
		return err
	}
	for _, at := range p.limit {
		if dir, in := p.gitDir(at); git.Owns(in) {
			return selection.PathError{Err: cli.WithHint(fmt.Errorf("%s: git's own files of a repository go together", quote.Name(at, true)),
				"name the repository: "+quote.Name(dir, true))}
		}
	}
	return nil
}

func (p *planner) planRepo(r *repo) {
	if r.dirs[0], r.err = p.host.openDir(r.dir); r.err != nil {
		return
	}
	if r.top, r.err = p.checkedOut(r.dir); r.err == nil && r.top != "" {
		p.repoOf[r.top] = nil
		r.dirs[1], r.err = p.host.openDir(r.top)
	}
	if r.err != nil {
		return
	}
	r.options = git.Options{Host: r.dirs[0], Top: r.dirs[1], Guest: &guestRepo{p, r.dir}, Force: p.opt.Force, KeepBoth: p.opt.KeepBoth}
	r.plan, r.err = git.New(p.ctx, r.options)
	if r.err == nil && r.top != "" {
		p.repoOf[r.top] = r
	}
}

// committed reports whether the guest has at a path only what it has committed, in a repository of which the host
// has something else checked out: then it comes with the commit. So does that a directory is gone which the host has committed.
func (p *planner) committed(a *item) bool {
	if !p.apart(a.path) {
		return false
	}
	r := p.repoOver(a.path)
	if a.isDir() && !(a.gone() && a.node == nil && a.by == nil && r.plan.HostHas(r.pathOf(a.path))) {
		return false
	}
	return p.gitHas(r, a.path, a.node, r.plan.Committed)
}

// apart reports whether a path is in a repository of which the host has something else checked out.
func (p *planner) apart(rel string) bool {
	r := p.repoOver(rel)
	return r != nil && r.plan.HeadStays
}

// original reports whether the guest has at a path what the host has committed there: whatever the host has, the
// guest has not changed it.
func (p *planner) original(rel string, n *sqlvfs.Node) bool {
	r := p.repoOver(rel)
	return r != nil && p.gitHas(r, rel, n, r.plan.Original)
}

// repoOver returns the repository that a path is checked out from, if there is one that is planned.
func (p *planner) repoOver(rel string) *repo {
	if rel == "." {
		return nil
	}
	top := path.Dir(rel)
	if r, ok := p.repoOf[top]; ok {
		return r
	}
	if c, _ := p.guestAt(join(top, ".git")); c != nil {
		p.repoAt(join(top, ".git"))
	}
	r, ok := p.repoOf[top]
	if !ok {
		r = p.repoOver(top)
	}
	if p.repoOf == nil {
		p.repoOf = map[string]*repo{}
	}
	p.repoOf[top] = r
	return r
}

// pathOf is what a path of the workspace is in the repository.
func (r *repo) pathOf(rel string) string {
	switch {
	case r.on != nil:
		return path.Join(r.within, rel)
	case r.top != ".":
		return strings.TrimPrefix(rel, r.top+"/")
	}
	return rel
}

// gitHas asks whether a commit has what the guest has at a path. If so, it is done with.
func (p *planner) gitHas(r *repo, rel string, n *sqlvfs.Node, has func(string, uint32, io.Reader, int64) bool) bool {
	at, is := r.pathOf(rel), false
	if n == nil {
		is = has(at, 0, nil, 0)
	} else if !n.Attr.IsDir() {
		if c, err := p.rowContent(n); err == nil {
			is = has(at, n.Attr.Mode, io.NewSectionReader(c, 0, c.size), c.size)
			c.close()
		}
	}
	if is {
		r.skipped = append(r.skipped, rel)
	}
	return is
}

// sortedRepos returns the repositories, by path.
func (p *planner) sortedRepos() (list []*repo) {
	for _, r := range p.repos {
		if r != nil {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *repo) int { return strings.Compare(a.dir, b.dir) })
	return list
}

// reportRepos says what is in conflict.
func (p *planner) reportRepos() {
	for _, r := range p.sortedRepos() {
		at := p.hostPath(r.dir)
		if r.err != nil {
			p.report.Stays(at, "left as it is: "+r.err.Error())
			continue
		}
		for _, text := range r.plan.Notes {
			p.report.Note(at, text)
		}
		for _, text := range r.plan.Conflicts {
			p.report.Stays(at, text)
		}
	}
}

func (p *planner) closeRepos() {
	for _, r := range p.sortedRepos() {
		if r.plan != nil {
			r.plan.Close()
		}
		for _, d := range r.dirs {
			d.Close() // nil is no error that matters
		}
		if r.on != nil {
			r.on.host.close()
		}
	}
}

// printRepos tells what becomes of references.
func (p *puller) printRepos() {
	for _, l := range p.refLines() {
		if !l.conflict && !l.repo.plan.Left {
			p.report.Line("REF  %s %s", p.report.Name(p.hostPath(l.repo.dir)), p.report.Name(l.text))
		}
	}
}

// importObjects brings the objects of all repositories. Nothing on the host refers to them yet. A repository of which
// one is damaged stays as it is.
func (p *puller) importObjects() error {
	for _, r := range p.sortedRepos() {
		if r.plan == nil || r.plan.Left {
			continue
		}
		if err := r.plan.Import(p.ctx); err != nil {
			switch {
			case p.ctx.Err() != nil:
				return errInterrupted
			case !git.Damaged(err):
				return fmt.Errorf("%s: %w", p.hostPath(r.dir), err)
			}
			r.plan.Leave("left as it is: the guest's " + err.Error())
			p.report.Stays(p.hostPath(r.dir), r.plan.Conflicts[0])
		}
	}
	return nil
}

// finishRepos moves references and indexes, now that the files are in place.
func (p *puller) finishRepos() {
	for _, r := range p.leaveSplit() { // some files could not be placed
		for _, text := range r.plan.Conflicts {
			p.report.Conflict(p.hostPath(r.dir), text)
		}
	}
	for _, r := range p.sortedRepos() {
		if r.plan == nil || r.plan.Left {
			continue
		}
		if err := r.plan.Finish(); err != nil {
			for line := range strings.Lines(err.Error()) {
				p.report.Fail(p.hostPath(r.dir), errors.New(strings.TrimSuffix(line, "\n")))
			}
			continue
		}
		r.done = true
	}
	p.printRepos()
}

// The references, the index and HEAD of a repository are one change, and one with the files that the guest has
// committed: where the index came and such a file did not, the user's next `git commit -a` would take back what
// the guest has done to it. So then none of them comes.

// leaveSplit leaves the repositories as they are whose index would come without a file in it. It returns those
// that it leaves.
func (p *planner) leaveSplit() (left []*repo) {
	for _, a := range p.notDone {
		r := p.repoOver(a.path)
		if r == nil || r.plan.Left || !p.splits(r, a) {
			continue
		}
		r.plan.Leave("left as it is: the guest has committed " + p.report.ErrName(a.path) + ", which does not come: pull both together")
		left = append(left, r)
	}
	return left
}

// splits reports whether the index of a repository must not come without an item.
func (p *planner) splits(r *repo, a *item) bool {
	d := a.decision
	return !a.isDir() && (d == classify.Decision{} || d.Pull() || d.Conflict()) && !a.resolved && r.plan.Takes(r.pathOf(a.path))
}
