package reconcile

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// gatherRenamed gathers what a directory of the database shows of a host directory that is elsewhere
// in the workspace, since the guest renamed it: all of it but what the rows override or hide.
func (p *planner) gatherRenamed(a *item, o *sqlvfs.Origin, hidden map[string]bool) error {
	if o.Base != p.name {
		p.policy.lacking(a, fmt.Errorf("its entries are in another workspace: %s", o.Base))
		return nil
	}
	if p.hidden.has(o.Path) {
		p.leaveHidden(a, o.Path)
		return nil
	}
	st, err := p.host.stat(o.Path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || err == nil && kind(st.Mode) != unix.S_IFDIR {
		p.policy.lacking(a, &goneError{p.hostPath(o.Path)})
		return nil
	}
	if err != nil {
		p.policy.lacking(a, fmt.Errorf("its entries are in %s on the host: %w", p.hostPath(o.Path), err))
		return nil
	}
	return p.gatherCopies(a, o.Path, hidden)
}

// goneError says that the host has removed a directory that the guest has renamed.
type goneError struct{ where string }

func (e *goneError) Error() string {
	return "its entries are in " + e.where + " on the host, which is gone"
}

// gatherCopies gathers the entries of a host directory, but for the hidden ones, as those of another.
func (p *planner) gatherCopies(a *item, source string, hidden map[string]bool) error {
	// Should a copy fail, all of the directory must stay where it is.
	lacking := func(err error) error {
		p.policy.lacking(a, err)
		p.needed[source] = true
		return nil
	}
	from, err := p.host.read(source)
	if err != nil {
		return lacking(fmt.Errorf("its entries are in %s on the host: %w", p.hostPath(source), err))
	}
	defer from.close()
	names, err := from.names()
	if err != nil {
		return lacking(err)
	}
	d, err := p.openThere(a)
	if err != nil {
		return lacking(err)
	}
	defer d.close()
	for _, name := range names {
		if err := p.interrupted(); err != nil {
			return err
		}
		if hidden[name] {
			continue
		}
		if err := p.gatherCopy(a, from, d, source, name); err != nil {
			return err
		}
	}
	if hidden != nil {
		return nil // see gatherDir
	}
	there, _ := d.names() // what cannot be read stays
	return p.gatherGone(a, d, slices.DeleteFunc(there, func(name string) bool {
		_, comes := slices.BinarySearch(names, name)
		return comes
	}))
}

// gatherCopy gathers one entry of such a directory, and what is below it. The error is one that ends the run.
func (p *planner) gatherCopy(in *item, from, d dir, source, name string) (err error) {
	st, err := from.stat(name)
	if err == nil && st.Mode == 0 || from.hasDatabase(name, &st) {
		return nil
	}
	source = join(source, name)
	c := &item{path: join(in.path, name), in: in, attr: attrOf(&st), source: source, from: source, version: hostfs.Fingerprint(&st)}
	c.attr.Nlink = uint32(min(st.Nlink, 1<<31))
	switch {
	case err != nil:
		p.policy.fail(c, err)
		return nil
	case p.hides(source, c.version): // the guest has not seen it: without, it has all
		p.stays(c, source)
		return nil
	case !p.look(c, d, name):
		return nil
	}
	c.was = p.baselineOf(c)
	switch kind(st.Mode) {
	case unix.S_IFDIR:
		p.addItem(c)
		return p.gatherCopies(c, source, nil)
	case unix.S_IFLNK:
		if c.target, err = hostfs.Readlink(from.f, name); err != nil {
			p.policy.fail(c, err)
			return nil
		}
		p.addReplacing(c)
	case unix.S_IFREG:
		p.addReplacing(c)
	default:
		p.report.Note(p.hostPath(c.path), "skipped: it is a "+hostfs.KindName(st.Mode))
	}
	return nil
}
