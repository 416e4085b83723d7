package reconcile

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/reconcile/held"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/internal/reconcile/settings"
	"github.com/riverlytech/art/sqlvfs"
)

// planner finds out what the guest changed. It reads both sides and changes neither.
type planner struct {
	ctx     context.Context
	opt     *Options
	report  *report.Reporter
	host    *host
	store   *sqlvfs.Store
	session *live.Client // the session that writes the database; nil: this process does, or nobody
	beside  bool         // a session writes it; this process may only look
	tree    *sqlvfs.Snapshot
	top     *sqlvfs.Node
	absent  *absence // what the guest has done to the workspace's directory; nil: it has one, or has changed nothing in it
	name    string
	id      sqlvfs.Tree // which directory the workspace is
	asRoot  bool        // owners are set too, and count when files are compared
	limit   selection.Limit
	filter  *selection.Filter
	policy  policy

	dirName  string // of the workspace's directory on the host
	exports  bool   // the host's directory is not the workspace's: what the database has is copied there
	whole    bool   // all of the workspace is in the database
	sameTree bool   // the origins of rows are in this directory, and not in another one of the same name

	removedBefore []string                    // paths that a pull which was killed has removed from the host
	revalidated   []revalidated               // see revalidate
	base          map[string]*sqlvfs.Baseline // by path; see baselineOf for what is not in it
	byDir         map[string][]string         // names that have a baseline, by directory
	origins       map[string]*sqlvfs.Node     // by the path of their origin in this workspace
	rowPaths      map[sqlvfs.Ino]string       // paths that have a baseline, by its row
	pathsOf       map[sqlvfs.Ino][]string     // see basePaths
	named         map[sqlvfs.Ino]uint32       // how many entries an inode has
	showing       map[sqlvfs.Ino]bool         // it has none, and is to be written to the host by a name of its origin's that shows it
	places        map[sqlvfs.Ino]string       // paths of the workspace's directories

	items []*item      // in the order of the tree: a directory before what is in it, unless it is removed
	ops   []*operation // what is to be done, in the same order
	dirs  []*operation // those about directories that the database or a copy names

	entered map[sqlvfs.Ino]*item         // directories of the database
	files   map[sqlvfs.Ino]*item         // files with several names, by their row
	copies  map[sqlvfs.Fingerprint]*item // files with several names that are copied, by their source
	moved   map[string]*item             // files that take along what the host changed, by the path that they had

	renamed []*item // directories of the database that show a host directory of another path

	settings *settings.Settings
	above    []string // see namesAbove
	byPreset *held.Asked
	hidden   *hiddenPaths // see hidden.go

	notDone  []*item           // that are left
	repos    map[string]*repo  // by git directory; nil: none that both sides have
	repoOf   map[string]*repo  // by directory: what it is checked out from
	gitDirs  map[string]string // by directory: see gitDirOver
	gitLocks map[string]string // files that say that git works in a repository, by git directory
	newRepos []string          // git directories that come as files

	parts map[string][2]held.Parts // of repositories, by directory: what it has, and may have

	refused error // the host cannot even look for a name that the guest has; nil: there is none

	// needed are host paths that rows still depend on because what comes from there was not done: to
	// replace them would lose what the guest has.
	needed map[string]bool
}

// policy decides about what is not simply done: pull, diff and reset each have one.
type policy interface {
	// conflict is called for an item that both sides changed; it returns whether the guest's is taken.
	conflict(a *item) bool
	// needed is called for an item that stays because others need what the host has there.
	needed(a *item)
	// broken is called for a file of which the guest has only a part, because the host has changed or
	// removed the file that held the rest.
	broken(a *item)
	// held is called for an item that needs the user's permission; it returns whether it is given.
	held(a *item) bool
	// choose may leave some of what is planned.
	choose() error
	// fail is called for an item that cannot be done.
	fail(a *item, err error)
	// lacking is called for a directory that cannot be complete.
	lacking(a *item, err error)
	// unseen is called for a path of the host that stays, since no guest sees it.
	unseen(rel string)
}

// compare gathers all items, decides about them, and plans operations. The error is one that ends the run.
func (p *planner) compare() error {
	p.report.Phase("compare")
	p.entered, p.files, p.moved = map[sqlvfs.Ino]*item{}, map[sqlvfs.Ino]*item{}, map[string]*item{}
	p.copies, p.needed = map[sqlvfs.Fingerprint]*item{}, map[string]bool{}
	if err := p.openExternal(); err != nil {
		return err
	}
	if err := p.gather(); err != nil {
		return err
	}
	p.needMovedOut()
	return p.decide()
}

// needMovedOut notes what the host must keep for files that the guest has moved out of the workspace.
func (p *planner) needMovedOut() {
	inside := map[sqlvfs.Ino]bool{}
	p.tree.All(func(n *sqlvfs.Node) {
		for _, e := range n.Children {
			inside[e.Ino] = inside[e.Ino] || p.entered[n.Ino] != nil
		}
	})
	for at, n := range p.origins {
		switch {
		case inside[n.Ino] || n.Ino == p.top.Ino:
		case n.Attr.IsDir() || n.Origin.Limit > 0 && (p.named[n.Ino] > 0 || n.Holds):
			p.needed[at] = true
		}
	}
}

// rows is what the database has, to be changed.
func (p *planner) rows() rows { return rows{p.store} }

// hostPath is how a path of the workspace is called in what pull prints.
func (p *planner) hostPath(rel string) string {
	if rel == "." {
		return cmp.Or(p.dirName, p.name)
	}
	return cmp.Or(p.dirName, p.name) + "/" + rel
}

// interrupted reports whether the run is to end.
func (p *planner) interrupted() error {
	if p.ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// wants reports whether the user asked for a path: with those that were named, and without those that
// patterns leave out, which are counted.
func (p *planner) wants(a *item) bool {
	if !p.limit.Has(a.path) {
		return false
	}
	by := p.filter.By(a.path, a.isDir())
	if by != "" {
		p.report.LeftOut(by)
	}
	return by == ""
}

// knows reports whether either side has something at a path, or had when both last agreed.
func (p *planner) knows(rel string) bool {
	if _, err := p.host.stat(rel); err == nil || p.base[rel] != nil || p.origins[rel] != nil {
		return true
	}
	if p.top != nil {
		n, from := p.guestAt(rel)
		if n == nil && from != "" {
			_, err := p.host.stat(from)
			return err == nil
		}
		if dir, _ := p.guestAt(path.Dir(rel)); n != nil || dir != nil && slices.Contains(dir.Whiteouts, path.Base(rel)) {
			return true
		}
	}
	for at := range p.base { // a directory needs no baseline of its own
		if strings.HasPrefix(at, rel+"/") {
			return true
		}
	}
	for at := range p.origins {
		if strings.HasPrefix(at, rel+"/") {
			return true
		}
	}
	return false
}
