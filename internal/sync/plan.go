package sync

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

var errLoop = errors.New("directory has more than one place in the database")

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
		if refusedName(err) && p.wants(a) {
			p.refused = cmp.Or(p.refused, fmt.Errorf("%s: %w", p.hostPath(a.path), err))
		}
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
