package sync

import (
	"context"
	"fmt"

	"github.com/riverlytech/art/internal/sync/held"
	"github.com/riverlytech/art/sqlvfs"
)

// planner finds out what the guest changed. It reads both sides and changes neither.
type planner struct {
	ctx    context.Context
	opt    *Options
	report *reporter
	host   *host
	store  *sqlvfs.Store
	tree   *sqlvfs.Snapshot
	top    *sqlvfs.Node
	name   string
	id     sqlvfs.Tree // which directory the workspace is
	asRoot bool        // owners are set too, and count when files are compared
	limit  limit
	filter *filter
	settle settler

	sameTree bool // the origins of rows are in this directory, and not in another one of the same name

	base    map[string]*sqlvfs.Baseline // by path; see baselineOf for what is not in it
	byDir   map[string][]string         // names that have a baseline, by directory
	origins map[string]*sqlvfs.Node     // by the path of their origin in this workspace
	named   map[sqlvfs.Ino]bool         // inodes that have an entry
	places  map[sqlvfs.Ino]string       // paths of the workspace's directories

	actions []*action // in the order of the tree: a directory before what is in it
	dirs    []*action // every directory that the database or a copy names, in the same order

	entered map[sqlvfs.Ino]*action // directories of the database
	files   map[sqlvfs.Ino]*action // files with several names, by their row
	shared  map[object]*action     // files that the guest may see under other names of the host's
	copies  map[object]*action     // files with several names that are copied, by their source

	renamed []*action // directories of the database that show a host directory of another path

	settings *settings

	parts map[string][2]held.Parts // of repositories, by directory: what it has, and may have

	refused error // the host cannot even look for a name that the guest has; nil: there is none

	// needed are host paths that rows still depend on because what comes from there was not done: to
	// replace them would lose what the guest has.
	needed map[string]bool

	buf, buf2 []byte
}

// settler decides about what is not simply done.
type settler interface {
	// conflict is told of a path that both sides changed; it returns whether the guest's is taken.
	conflict(a *action, why string) bool
	// broken is told of a file of which the guest has only a part, because the host has changed or
	// removed the file that held the rest.
	broken(a *action)
	// held is told of a path that needs the user's permission; it returns whether it is given.
	held(a *action, why string) bool
	// fail is told of a path that cannot be done.
	fail(a *action, err error)
	// lacking is told of a directory that cannot be complete.
	lacking(a *action, err error)
}

// plan fills actions and dirs. The error is one that ends the run.
func (p *planner) plan() error {
	p.report.Phase("compare")
	p.entered, p.files = map[sqlvfs.Ino]*action{}, map[sqlvfs.Ino]*action{}
	p.shared, p.copies, p.needed = map[object]*action{}, map[object]*action{}, map[string]bool{}
	root := &action{do: keep, path: ".", attr: p.top.Attr, node: p.top}
	st, err := fstat(p.host.dir)
	if err != nil {
		return fmt.Errorf("workspace %s: %w", p.host.dir.Name(), err)
	}
	p.meet(root, &st)
	root.was = p.baselineOf(root)
	p.dirs = append(p.dirs, root)
	p.planMode(root)
	if err := p.planDir(root, true); err != nil {
		return err
	}
	if err := p.planSharedNames(root, "."); err != nil {
		return err
	}
	for _, u := range p.tree.Unseen {
		if dir := p.entered[u.Dir]; dir != nil {
			p.report.fail(p.hostPath(dir.path)+"/"+u.Name, fmt.Errorf("not an entry that can be: %s", u.Why))
			for ; dir != nil; dir = dir.in {
				dir.incomplete = true
			}
		}
	}
	return nil
}

// hostPath is how a path of the workspace is called in what pull prints.
func (p *planner) hostPath(rel string) string {
	if rel == "." {
		return p.name
	}
	return p.name + "/" + rel
}

// interrupted tells whether the run is to end.
func (p *planner) interrupted() error {
	if p.ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}
