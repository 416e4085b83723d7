package sync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// verb is what pull does to a path.
type verb int

const (
	keep     verb = iota // nothing: it is as it should be
	mkdir                // make a directory
	chmodDir             // set a directory's mode
	write                // write a file
	touch                // set a file's mode and times; its content is right
	hardLink             // make it another name of a file
	symlink              // make a symbolic link
	remove               // remove it
)

// action is what is to be done to one path of the host, so that it becomes what the guest has there.
type action struct {
	do     verb
	path   string  // below the workspace
	in     *action // the directory that holds it; nil for the workspace itself
	attr   sqlvfs.Attr
	target string  // of a symbolic link
	other  *action // of a hard link: the file that it is another name of

	node    *sqlvfs.Node       // nil for what is copied from the host, and for what is removed
	was     *sqlvfs.Baseline   // what both sides last agreed about; nil: nothing
	source  string             // host path that content comes from, or ""
	version sqlvfs.Fingerprint // of the version of it that is meant

	there uint32             // type of what the host has at the path; 0: nothing
	host  sqlvfs.Attr        // of that
	now   sqlvfs.Fingerprint // of that
	tmp   string             // its name in the staging directory, once it is there

	instead *action // removes the directory that it takes the place of

	hash []byte // of its content, once it is staged

	lazy   bool // of a directory: it is made only if something in it is
	beside bool // it goes beside the path that the row has
	agreed bool // keep: both sides are equal now, which is to be written down

	done, failed bool
	incomplete   bool // of a directory: something below failed
	touched      bool // of a directory: an entry was changed
}

// modeBits are what pull takes over of a mode. Set-user-ID and set-group-ID are not among them: on
// the host they would lend the caller's rights to whoever wrote the database.
const modeBits = 0o1777

var (
	errLoop    = errors.New("directory has more than one place in the database")
	errTooLong = errors.New("path is too long")
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
	asRoot bool // owners are set too, and count when files are compared
	limit  limit
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

// planDir plans what is in a directory of the database. there tells whether the host has it.
func (p *planner) planDir(a *action, there bool) error {
	// Linux knows no hard links to directories, so whatever comes twice is made up: a loop, or a
	// tree that unfolds without end.
	if p.entered[a.node.Ino] != nil {
		p.settle.fail(a, errLoop)
		return nil
	}
	p.entered[a.node.Ino] = a
	d, err := p.openThere(a, there)
	if err != nil {
		p.settle.fail(a, err)
		return nil
	}
	hidden := make(map[string]bool, len(a.node.Children)+len(a.node.Whiteouts))
	// Descending may go deep: the descriptor is closed before it.
	var below []func() error
	for _, e := range a.node.Children {
		if err := p.interrupted(); err != nil {
			d.close()
			return err
		}
		hidden[e.Name] = true
		if next := p.planEntry(a, d, e.Name, p.tree.Node(e.Ino)); next != nil {
			below = append(below, next)
		}
	}
	gone := p.gone(a, d, hidden)
	for _, name := range a.node.Whiteouts {
		hidden[name] = true
	}
	err = p.planRemovals(a, d, gone)
	d.close()
	if err != nil {
		return err
	}
	for _, next := range below {
		if err := next(); err != nil {
			return err
		}
	}
	if o := a.node.Origin; o != nil && o.Path != a.path {
		p.renamed = append(p.renamed, a)
		return p.planRenamed(a, o, hidden, there)
	}
	return nil
}

// thereDir is a directory of the host as planning sees it; one that is not there has no entries.
type thereDir struct {
	f    *os.File
	self object
}

func (p *planner) openThere(a *action, there bool) (thereDir, error) {
	if !there {
		return thereDir{}, nil
	}
	f, err := p.host.openDir(a.path)
	if err != nil {
		return thereDir{}, err
	}
	st, err := fstat(f)
	if err != nil {
		f.Close()
		return thereDir{}, err
	}
	return thereDir{f, objectOf(&st)}, nil
}

// stat returns the attributes of an entry, or none when there is no such entry.
func (d thereDir) stat(name string) (unix.Stat_t, error) {
	if d.f == nil {
		return unix.Stat_t{}, nil
	}
	st, err := statAt(d.f, name)
	if err == unix.ENOENT {
		return unix.Stat_t{}, nil
	}
	return st, err
}

func (d thereDir) close() {
	if d.f != nil {
		d.f.Close()
	}
}

// planEntry plans one entry of a directory, except what is below it: that it returns.
func (p *planner) planEntry(dir *action, d thereDir, name string, n *sqlvfs.Node) (below func() error) {
	a := &action{path: join(dir.path, name), in: dir, node: n, attr: n.Attr, target: n.Target}
	if !p.look(a, d, name) {
		return nil
	}
	a.was = p.baselineOf(a)
	switch kind(a.attr.Mode) {
	case unix.S_IFDIR:
		if !p.planMkdir(a) {
			return nil
		}
		there := a.there == unix.S_IFDIR
		return func() error { return p.planDir(a, there) }
	case unix.S_IFREG:
		p.planFile(a)
	case unix.S_IFLNK:
		p.planSymlink(a)
	default:
		p.report.note(p.hostPath(a.path), "skipped: it is a "+kindName(a.attr.Mode))
	}
	return nil
}

// look finds out what the host has at an action's path. It returns false for a path that is not
// to be touched.
func (p *planner) look(a *action, d thereDir, name string) bool {
	if len(a.path) > maxPath {
		p.settle.fail(a, errTooLong)
		return false
	}
	if why := skipped(a.path); why != "" {
		p.report.note(p.hostPath(a.path), why)
		return false
	}
	st, err := d.stat(name)
	if err != nil {
		p.settle.fail(a, err)
		return false
	}
	if d.f != nil && p.host.db.has(d.self, name, &st) {
		p.report.note(p.hostPath(a.path), "skipped: the database itself is there")
		return false
	}
	p.meet(a, &st)
	return true
}

// meet notes what the host has at an action's path.
func (p *planner) meet(a *action, st *unix.Stat_t) {
	if a.there = kind(st.Mode); a.there != 0 {
		a.host, a.now = attrOf(st), fingerprintOf(st)
		a.host.Nlink = uint32(min(st.Nlink, 1<<31))
	}
}

// add plans an action, and before it the directories that it needs.
func (p *planner) add(a *action) {
	if !p.need(a.in) {
		p.leave(a)
		return
	}
	if a.in != nil {
		a.in.touched = true
	}
	p.actions = append(p.actions, a)
}

// need plans a directory that the host has no more, or has something else in the place of.
func (p *planner) need(d *action) bool {
	if d == nil || d.failed {
		return d == nil
	}
	if !d.lazy {
		return true
	}
	d.lazy = false
	if !p.need(d.in) || d.there != 0 && !p.settleConflict(d) {
		d.failed = true
		return false
	}
	p.actions = append(p.actions, d)
	p.dirs = append(p.dirs, d)
	return true
}

// planMkdir plans a directory. It returns false if nothing in it can be planned.
func (p *planner) planMkdir(a *action) bool {
	switch {
	case a.there == unix.S_IFDIR:
		p.dirs = append(p.dirs, a)
		p.planMode(a)
		return true
	case a.was != nil && kind(a.was.Mode) == unix.S_IFDIR && !p.within(a):
		// The guest's directory is the one that the host had: whatever changed in it says whether it
		// is needed.
		a.do, a.lazy = mkdir, true
		return true
	}
	a.do = mkdir
	if a.there != 0 && p.hostChanged(a) && !p.settleConflict(a) || !p.permitted(a) {
		return false
	}
	p.add(a)
	p.dirs = append(p.dirs, a)
	return true
}

// within tells whether a directory came to its place by being renamed, or is all new: then it is
// made even if it is empty.
func (p *planner) within(a *action) bool {
	return a.was == nil || a.node == nil || a.was.Row != a.node.Ino
}

// planMode plans the mode of a directory that both sides have.
func (p *planner) planMode(a *action) {
	if !p.limit.has(a.path) || p.sameModeAndOwner(a) {
		return
	}
	if b := a.was; b != nil && kind(b.Mode) == unix.S_IFDIR && b.Mode&0o7777 != 0 {
		if (b.Mode^a.attr.Mode)&modeBits == 0 || (b.Mode^a.host.Mode)&modeBits != 0 && !p.settleConflict(a) {
			return
		}
	}
	a.do = chmodDir
	if p.permitted(a) {
		p.actions = append(p.actions, a)
	}
}

func (p *planner) planSymlink(a *action) {
	a.do = symlink
	if !p.guestChanged(a) {
		return
	}
	if a.there == unix.S_IFLNK && p.sameTarget(a) && (!p.asRoot || sameOwner(a)) {
		if a.host.Mtime == a.attr.Mtime || p.hostChanged(a) {
			p.agree(a)
			return
		}
	} else if p.hostChanged(a) && !p.settleConflict(a) {
		return
	}
	p.replace(a)
}

func (p *planner) planFile(a *action) {
	a.do = write
	if !p.guestChanged(a) && !p.stale(a) {
		if a.attr.Nlink > 1 && a.there == unix.S_IFREG {
			a.do = keep // what other names of the row are linked to
			p.files[a.node.Ino] = a
		}
		return
	}
	if o := a.node.Origin; o != nil && o.Limit > 0 {
		a.source, a.version = o.Path, o.Fingerprint
		if o.Base != p.name {
			p.settle.fail(a, fmt.Errorf("its content is in another workspace: %s", o.Base))
			return
		}
	}
	if a.attr.Nlink > 1 {
		if first := p.files[a.node.Ino]; first != nil && !first.failed {
			p.planHardLink(a, first)
			return
		}
		p.files[a.node.Ino] = a
	}
	changed := p.hostChanged(a)
	if changed && a.there != 0 {
		same, err := p.equal(a)
		if err == nil && same || brokenSource(err) && p.placedBefore(a) {
			p.agree(a)
			return
		}
	} else if p.same(a) && !p.elsewhere(a) && p.sameContent(a) {
		p.agree(a)
		return
	}
	if changed && !p.settleConflict(a) {
		return
	}
	if a.source != "" && !p.sourceThere(a) {
		if p.limit.has(a.path) {
			p.settle.broken(a)
		}
		p.leave(a)
		return
	}
	if p.onlyAttributes(a) {
		a.do, a.source = touch, ""
	}
	p.shareNames(a)
	p.replace(a)
}

// agree notes that both sides are equal.
func (p *planner) agree(a *action) {
	a.do, a.agreed = keep, true
	if p.limit.has(a.path) {
		a.done = true
		p.actions = append(p.actions, a)
	}
}

// planHardLink makes a file another name of one that was planned before.
func (p *planner) planHardLink(a, first *action) {
	a.do, a.other, a.source = hardLink, first, ""
	placed := first.do == keep || first.do == touch
	if placed && a.there == unix.S_IFREG && sameObject(a, first) {
		p.agree(a)
		return
	}
	if p.hostChanged(a) {
		same := false
		if a.there != 0 {
			same, _ = p.equal(a)
		}
		if !same && !p.settleConflict(a) {
			return
		}
	}
	p.replace(a)
}

// replace adds what is to take the place of whatever is there.
func (p *planner) replace(a *action) {
	if !p.permitted(a) {
		return
	}
	if a.there == unix.S_IFDIR && !p.planReplaced(a) {
		return
	}
	p.add(a)
}

// permitted tells whether a path may be changed: the user asked for it, and it is nothing that the
// host would run by itself.
func (p *planner) permitted(a *action) bool {
	if !p.limit.has(a.path) {
		p.leave(a)
		return false
	}
	if why := p.danger(a); why != "" && !p.settle.held(a, why) {
		p.leave(a)
		return false
	}
	return true
}

// settleConflict tells of a path that both sides changed.
func (p *planner) settleConflict(a *action) bool {
	if !p.limit.has(a.path) {
		p.leave(a)
		return false
	}
	if p.settle.conflict(a, conflictText(a)) {
		return true
	}
	p.leave(a)
	return false
}

// leave notes that an action is not done: what the guest has there is not on the host, and what it
// comes from must stay for another time.
func (p *planner) leave(a *action) {
	a.failed = true
	for d := a; d != nil; d = d.in {
		d.incomplete = true
	}
	if a.source != "" {
		p.needed[a.source] = true
	}
	if a.node != nil && a.node.Attr.IsDir() && p.entered[a.node.Ino] == nil {
		p.needBelow(a.node, map[sqlvfs.Ino]bool{})
	}
}

// needBelow notes what the host must keep for a directory of the guest that is not brought.
func (p *planner) needBelow(n *sqlvfs.Node, seen map[sqlvfs.Ino]bool) {
	if o := n.Origin; o != nil && o.Base == p.name && (n.Attr.IsDir() || o.Limit > 0) {
		p.needed[o.Path] = true
	}
	if seen[n.Ino] {
		return
	}
	seen[n.Ino] = true
	for _, e := range n.Children {
		p.needBelow(p.tree.Node(e.Ino), seen)
	}
}

// needs tells whether something that was not done, or is not complete, still needs what the host has
// at a path.
func (p *planner) needs(rel string) bool {
	for at := rel; at != "."; at = path.Dir(at) {
		if p.needed[at] {
			return true
		}
	}
	for _, d := range p.renamed {
		if o := d.node.Origin.Path; (d.incomplete || d.failed) && (rel == o || strings.HasPrefix(rel, o+"/")) {
			return true
		}
	}
	return false
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
