package reconcile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/quote"
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
	err      error    // why there is none
	skipped  []string // files that the guest has committed, and that do not belong to what the host has checked out
	done     bool     // what the guest had in it is on the host
	replaced bool     // only one side has the directory: that is left as it is too

	// Of one whose git directory is outside of the workspace, that is p.repos[outside]:
	on     *planner // what reads its layer of the database; nil: it is in the workspace
	within string   // where the workspace is in what is checked out
}

// gitDir returns the git directory that a path is in, and the path in there: the innermost directory that is called .git,
// or that is one on the host, as those of submodules and bare repositories are. What is git's own in one is no other.
func (p *planner) gitDir(rel string) (dir, in string) {
	up, name := parent(rel)
	if dir = p.gitDirOver(up); dir != "" {
		in = strings.TrimPrefix(rel, dir+"/")
	}
	if name == ".git" && !git.Owns(in) {
		return rel, ""
	}
	return dir, in
}

// gitDirOver returns the git directory that a directory is, or is in.
func (p *planner) gitDirOver(at string) (dir string) {
	if at == "." {
		return ""
	}
	dir, ok := p.gitDirs[at]
	if ok {
		return dir
	}
	dir, in := p.gitDir(at)
	if (dir == "" || in != "" && !git.Owns(in)) && p.isOther(at, dir != "") {
		dir = at
	}
	if p.gitDirs == nil {
		p.gitDirs = map[string]string{}
	}
	p.gitDirs[at] = dir
	return dir
}

// isOther tells whether a directory of the host that is not called .git is a git directory, by its configuration too.
// Others that look like one are files: of a project, as those that programs for git are tested with, or of a repository
// that is new and whose configuration was held back.
func (p *planner) isOther(dir string, within bool) bool {
	if !p.isRepo(dir) {
		return false
	}
	bare, top, err := p.worktree(dir)
	return err == nil && (within || bare || top != "")
}

// worktree returns what the host's configuration says of what is checked out from a git directory.
func (p *planner) worktree(dir string) (bare bool, top string, err error) {
	f, err := p.host.openFile(join(dir, "config"))
	if err != nil {
		return false, "", err
	}
	defer f.Close()
	bare, top = git.Worktree(f)
	return bare, top, nil
}

// ofGit tells whether a path belongs to a repository, so that it is no file. Of one that is left as it is, all that is
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

// left tells whether a repository is left as it is, for another pull.
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
	own := n != nil && n.Origin != nil && n.Origin.Base == p.name && n.Origin.Path == dir
	switch st, err := p.host.stat(dir); {
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

// isRepo tells whether a directory of the host is a git directory (gitrepository-layout(5)).
func (p *planner) isRepo(dir string) bool {
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := p.host.stat(join(dir, part)); err != nil {
			return false
		}
	}
	return true
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
	r.plan, r.err = git.New(p.ctx, git.Options{Host: r.dirs[0], Top: r.dirs[1], Guest: &guestRepo{p, r.dir}, Force: p.opt.Force})
	if r.err == nil && r.top != "" {
		p.repoOf[r.top] = r
	}
}

// checkedOut returns the directory with what is checked out from a git directory; "" is none. As git itself, it takes
// another one than that which .git lies in only where each of the two leads to the other (git-submodule(1)).
func (p *planner) checkedOut(dir string) (top string, err error) {
	up, name := parent(dir)
	bare, at, _ := p.worktree(dir)
	switch {
	case at == "" && name == ".git":
		return up, nil
	case at == "" && bare:
		return "", nil
	case at == "":
		return "", errors.New("the host's configuration does not say where its working tree is")
	}
	if top, err = p.below(dir, at); err != nil {
		return "", fmt.Errorf("its working tree, %s, is outside of the workspace", quote.Name(at, true))
	}
	if name == ".git" {
		return top, nil
	}
	f, err := p.host.openFile(join(top, ".git"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPath))
	back, _ := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if back, berr := p.below(top, back); err != nil || berr != nil || back != dir {
		return "", fmt.Errorf("its working tree, %s, belongs to another repository", quote.Name(top, true))
	}
	return top, nil
}

// below returns the path below the workspace that a path means which the host names in a directory.
func (p *planner) below(dir, at string) (rel string, err error) {
	if path.IsAbs(at) {
		rel, err = filepath.Rel(p.host.dir.Name(), at)
	} else {
		rel = path.Join(dir, at)
	}
	if err == nil && !filepath.IsLocal(rel) {
		err = errors.New("it is outside of the workspace")
	}
	return rel, err
}

// committed tells whether the guest has at a path only what it has committed, in a repository of which the host
// has something else checked out: then it comes with the commit.
func (p *planner) committed(rel string, n *sqlvfs.Node) bool {
	return p.apart(rel) && p.gitHas(p.repoOver(rel), rel, n, p.repoOver(rel).plan.Committed)
}

// apart tells whether a path is in a repository of which the host has something else checked out.
func (p *planner) apart(rel string) bool {
	r := p.repoOver(rel)
	return r != nil && r.plan.Apart
}

// original tells whether the guest has at a path what the host has committed there: whatever the host has, the
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

// tellRepos says what is in conflict.
func (p *planner) tellRepos() {
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
	for _, r := range p.keepTogether() { // some files could not be placed
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

// guestRepo is a git directory of the guest (package git).
type guestRepo struct {
	p   *planner
	dir string
}

func (g *guestRepo) at(rel string) string { return path.Join(g.dir, rel) }

func (g *guestRepo) List(rel string) (l git.Listing, err error) {
	n, from := g.p.guestAt(g.at(rel))
	switch {
	case n == nil && from == "":
		return l, fs.ErrNotExist
	case n == nil:
		return l, nil
	case !n.Attr.IsDir():
		return l, fs.ErrNotExist
	}
	for _, e := range n.Children {
		if c := g.p.tree.Node(e.Ino); c.Attr.IsDir() || c.Attr.IsRegular() {
			l.Own = append(l.Own, git.Entry{Name: e.Name, Dir: c.Attr.IsDir()})
		} else {
			l.Hidden = append(l.Hidden, e.Name)
		}
	}
	l.Hidden = append(l.Hidden, n.Whiteouts...)
	l.Opaque = n.Origin == nil || n.Origin.Base != g.p.name || n.Origin.Path != g.at(rel)
	return l, nil
}

func (g *guestRepo) Open(rel string) (git.File, error) {
	n, _ := g.p.guestAt(g.at(rel))
	if n == nil || !n.Attr.IsRegular() {
		return nil, fs.ErrNotExist
	}
	return g.p.rowContent(n)
}

func (g *guestRepo) Same(rel string) (host, guest bool) {
	at := g.at(rel)
	n, from := g.p.guestAt(at)
	if n == nil && from == at {
		return true, true
	}
	b := g.p.baselineOf(&item{path: at, node: n})
	st, err := g.p.host.stat(at)
	there := err == nil
	if b == nil {
		return !there, n == nil
	}
	return there && fingerprintOf(&st) == b.Fingerprint, n != nil && b.Row == n.Ino && b.RowCtime == n.Attr.Ctime
}

func (g *guestRepo) Changed(rel string) time.Time {
	n, _ := g.p.guestAt(g.at(rel))
	if n == nil {
		return time.Time{}
	}
	return time.Unix(n.Attr.Ctime.Sec, int64(n.Attr.Ctime.Nsec))
}

func (g *guestRepo) Since(rel string) (until time.Time, known bool) {
	at := g.at(rel)
	n, _ := g.p.guestAt(at)
	if !g.p.sameTree || g.p.whole { // the guest has seen what it was given, and not the host's
		return until, false
	}
	if b := g.p.baselineOf(&item{path: at, node: n}); b != nil {
		when := b.RowCtime
		if when == (sqlvfs.Timespec{}) { // the host's is older than that
			when = b.Ctime
		}
		until = time.Unix(when.Sec, int64(when.Nsec))
	}
	return until, true
}

// absorb has the guest see the host's of what has come to the host's repositories: git's files of the guest that hold
// it go. In a database that is to be whole without the host they stay until the next push replaces them.
func (p *puller) absorb() error {
	w, _, err := workspaceOf(p.store, p.name)
	if err != nil {
		return err
	}
	for _, r := range p.sortedRepos() {
		if !r.done {
			continue
		}
		if r.on != nil {
			if err := r.absorbOutside(); err != nil {
				return err
			}
		} else if n, _ := p.guestAt(r.dir); n == nil {
			continue
		} else if err := p.absorbDir(r.dir, n, w.Whole, func(rel string) git.Share { return r.plan.Brought(strings.TrimPrefix(rel, r.dir+"/")) }); err != nil {
			return err
		}
		if r.plan.Kept {
			continue // these files are a part of what stays
		}
		for _, rel := range r.skipped {
			dir, _ := p.guestAt(path.Dir(rel))
			if dir == nil {
				continue
			}
			if err := p.absorbDir(path.Dir(rel), dir, w.Whole, func(at string) git.Share {
				if at == rel {
					return git.All
				}
				return git.None
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// absorbDir has the guest see the host's of what was brought of a directory.
func (p *puller) absorbDir(rel string, n *sqlvfs.Node, whole bool, brought func(string) git.Share) error {
	var names []string
	for _, name := range n.Whiteouts {
		if brought(join(rel, name)) != git.None && (!whole || p.tree.Child(n, name) == nil) {
			names = append(names, name)
		}
	}
	for _, e := range n.Children {
		at, c := join(rel, e.Name), p.tree.Node(e.Ino)
		switch share := brought(at); {
		case share == git.None:
		case share == git.All && !whole:
			names = append(names, e.Name)
		case c.Attr.IsDir():
			if err := p.absorbDir(at, c, whole, brought); err != nil {
				return err
			}
			if err := p.reveal(c, at); err != nil {
				return err
			}
		case whole:
			p.outdate(at, c)
		}
	}
	return p.rows().With(n.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error {
		for _, name := range names {
			if _, err := p.uncover(tx, dir, name, join(rel, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// reveal has the guest see what the host has in a directory beside what is left of its own.
func (p *puller) reveal(n *sqlvfs.Node, at string) error {
	st, err := p.host.stat(at)
	if o := n.Origin; err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || o != nil && o.Base == p.name && o.Path == at {
		return nil
	}
	return p.rows().With(n.Ino, func(tx *sqlvfs.Tx, dir *sqlvfs.Inode) error {
		tx.SetOrigin(dir, &sqlvfs.Origin{Base: p.name, Path: at, Number: number(n), Fingerprint: fingerprintOf(&st), Mode: st.Mode})
		return nil
	})
}

// outdate writes down that a row is as it was when both sides last agreed, and that the host's is not: so the
// next push brings the host's.
func (p *puller) outdate(at string, n *sqlvfs.Node) {
	if n.Attr.IsDir() {
		return
	}
	if _, in := p.gitDir(at); strings.HasPrefix(in, "objects/") {
		return // those never change
	}
	st, err := p.host.stat(at)
	if b := p.base[at]; err == nil && b != nil && b.Fingerprint == fingerprintOf(&st) && b.Row == n.Ino && b.RowCtime == n.Attr.Ctime {
		return
	}
	p.store.View(func(tx *sqlvfs.Tx) error {
		tx.SetBaseline(p.id, at, &sqlvfs.Baseline{
			Mode: n.Attr.Mode, Fingerprint: sqlvfs.Fingerprint{Size: n.Attr.Size, Mtime: n.Attr.Mtime}, Row: n.Ino, RowCtime: n.Attr.Ctime,
		})
		return nil
	})
}
