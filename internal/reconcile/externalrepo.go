package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/sqlvfs"
)

// The git directory of a workspace may lie outside of it (package gitdir). In the database it is a layer of its own
// then, over the directory of the host, and the workspace's repository all the same. Where it is, the host says and
// not the database.

// external is the place in planner.repos of that repository.
const external = ""

// openExternal opens the repository of the workspace whose git directory lies outside of it, if the guest had one.
func (p *planner) openExternal() error {
	n := p.tree.Child(p.tree.Node(sqlvfs.RootIno), sqlvfs.GitLayer(p.name))
	if p.exports || n == nil || len(n.Children)+len(n.Whiteouts) == 0 || !p.limit.Has(".git") {
		return nil
	}
	if by := p.filter.By(".git", true); by != "" {
		p.report.LeftOut(by)
		return nil
	}
	r := &repo{dir: ".git", top: "."}
	if p.repos == nil {
		p.repos, p.repoOf = map[string]*repo{}, map[string]*repo{}
	}
	p.repos[external] = r
	workspace, err := filepath.EvalSymlinks(p.host.dir.Name())
	if err != nil {
		return hostfs.Unwrap(err)
	}
	found, err := gitdir.Find(workspace, p.settings.Homes)
	switch {
	case err != nil:
		r.err = err
	case found == nil:
		r.err = errors.New("the host has no git directory for it outside of the workspace any more")
	default:
		r.err = p.planExternal(r, found, workspace)
	}
	if r.err == nil {
		p.repoOf["."] = r
	}
	return p.interrupted()
}

func (p *planner) planExternal(r *repo, found *gitdir.Dir, workspace string) (err error) {
	up, err := filepath.Rel(workspace, found.Root.Path)
	if err != nil {
		return err
	}
	r.dir = path.Join(up, ".git")
	if r.within, err = filepath.Rel(found.Root.Path, workspace); err != nil {
		return err
	}
	own, err := filepath.Rel(found.Common.Path, found.Own)
	if err != nil {
		return err
	}
	if own == "." {
		own = ""
	}
	h, err := openHost(found.Common.Path)
	if err != nil {
		return err
	}
	q := &planner{ctx: p.ctx, opt: p.opt, report: p.report, host: h, store: p.store, name: sqlvfs.GitLayer(p.name), asRoot: p.asRoot, settings: p.settings}
	r.on = q
	if err := isPlace(h.dir, found.Common); err != nil {
		return err
	}
	if err := p.opt.claim(p.ctx, p.store, h, found.Common.Path, q.name, false); err != nil {
		return err
	}
	if err := q.load(); err != nil {
		return err
	}
	if q.top == nil || q.absent != nil {
		return errors.New("it is not in the database")
	}
	if r.dirs[0], err = h.openDir("."); err != nil {
		return err
	}
	if r.dirs[1], err = os.OpenFile(found.Root.Path, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_NOFOLLOW, 0); err != nil {
		return err
	}
	if err := isPlace(r.dirs[1], found.Root); err != nil {
		return err
	}
	r.options = git.Options{
		Host: r.dirs[0], Own: own, Top: r.dirs[1], Guest: &guestRepo{q, "."}, Force: p.opt.Force, KeepBoth: p.opt.KeepBoth, Stay: p.around(),
	}
	r.plan, err = git.New(p.ctx, r.options)
	return err
}

// isPlace makes sure that a directory is the one that was looked at.
func isPlace(dir *os.File, place gitdir.Place) error {
	st, err := hostfs.Stat(dir)
	if err == nil && (uint64(st.Dev) != place.Dev || st.Ino != place.Ino) {
		err = fmt.Errorf("%s: another directory has been put in its place", place.Path)
	}
	return err
}

// around says why what is checked out on the host has to stay, if the guest has changed files of the repository around
// the workspace, which do not come.
func (p *planner) around() string {
	n := p.tree.Child(p.tree.Node(sqlvfs.RootIno), sqlvfs.TreeLayer(p.name))
	if n == nil || !p.changedBelow(n, 0) {
		return ""
	}
	return "the guest has changed files around the workspace, which stay in the database"
}

// changedBelow reports whether a directory that has an origin has anything in it that is more than a directory with one.
func (p *planner) changedBelow(n *sqlvfs.Node, depth int) bool {
	if len(n.Whiteouts) > 0 || depth > maxPath {
		return true
	}
	for _, e := range n.Children {
		c := p.tree.Node(e.Ino)
		if !c.Attr.IsDir() || c.Origin == nil || p.changedBelow(c, depth+1) {
			return true
		}
	}
	return false
}

// pullExternal brings what the guest did in such a repository, where it has changed no file of the workspace.
func (p *puller) pullExternal() error {
	if err := p.openExternal(); err != nil {
		return err
	}
	if p.opt.Pick {
		if err := p.chooser().askRepos(); err != nil {
			return err
		}
	}
	p.reportRepos()
	if p.opt.DryRun {
		p.printRepos()
		return nil
	}
	if err := p.importObjects(); err != nil {
		return err
	}
	if err := p.keepForCheckpoints(); err != nil {
		return err
	}
	p.finishRepos()
	if err := p.sync(); err != nil {
		return err
	}
	return p.absorb()
}

// discardExternal has the guest see the host's repository again, and what is around the workspace.
func (p *planner) discardExternal() error {
	if p.repos[external] == nil {
		return nil
	}
	for _, name := range []string{sqlvfs.GitLayer(p.name), sqlvfs.TreeLayer(p.name)} {
		n := p.tree.Child(p.tree.Node(sqlvfs.RootIno), name)
		if n == nil {
			continue
		}
		q := &puller{planner: planner{name: name, store: p.store, tree: p.tree, host: p.host}}
		if r := p.repos[external]; r.on != nil && r.on.name == name {
			q.planner = *r.on
		}
		if err := q.absorbDir(".", n, false, func(string) git.Share { return git.All }, nil); err != nil {
			return err
		}
	}
	return nil
}

// absorbExternal has the guest see the host's repository again.
func (r *repo) absorbExternal(session *live.Client) error {
	q := &puller{planner: *r.on}
	q.session = session
	if err := q.absorbDir(".", q.top, session != nil, r.plan.Obsolete, r.plan.Agreed); err != nil {
		return err
	}
	return q.notePulledRepo(r)
}
