package history

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/riverlytech/art/internal/live"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/selection"
	"github.com/riverlytech/art/sqlvfs"
)

// inTree is inHome for what is there now, or was at a checkpoint. Names of the host's that lead to rows without entries are apart.
func inTree(ctx context.Context, name string, paths []string, o *Options) (list []string, linked []sqlvfs.LinkedName, err error) {
	live.Settle(o.DB)
	then, now, err := sqlvfs.OpenMoments(o.DB, name, "")
	if err != nil {
		return nil, nil, fmt.Errorf("rewind in %s: %w", o.DB, Hinted(o.DB, err))
	}
	defer then.Close()
	defer now.Close()
	d := &comparer{ctx: ctx, from: then, to: now, opt: &DiffOptions{Prog: o.Prog, DB: o.DB, Dir: o.Dir}}
	if err := d.findWorkspace(); err != nil {
		return nil, nil, err
	}
	if d.host != nil {
		defer d.host.Close()
	}
	all, err := d.inHome(paths, d.knows)
	if err != nil {
		return nil, nil, err
	}
	for _, at := range all {
		if err != nil {
			break
		}
		var was, is *object
		if was, err = d.follow(then, at); err == nil {
			is, err = d.follow(now, at)
		}
		var names []sqlvfs.LinkedName
		if err == nil {
			names, err = d.linkedNames(at, was, is)
		}
		if linked = append(linked, names...); len(names) == 0 || is.row != nil && !is.linked || was.row != nil && !was.linked {
			list = append(list, at)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("rewind in %s: %w", o.DB, Hinted(o.DB, err))
	}
	return list, linked, nil
}

// pathsOf are those of some names.
func pathsOf(linked []sqlvfs.LinkedName) (list []string) {
	for _, l := range linked {
		list = append(list, l.Path)
	}
	return list
}

// follow returns what a path below the home leads to at a moment, or nil.
func (d *comparer) follow(m *sqlvfs.Moment, at string) (*object, error) {
	o, err := d.object(m, sqlvfs.RootIno)
	for name := range strings.SplitSeq(at, "/") {
		if err == nil {
			o, err = d.child(o, name)
		}
	}
	return o, err
}

// inHome turns the paths that the user gives into paths below the guest's home: those of the workspace are relative to the current
// directory, or else to the workspace; others begin with "~/", as Diff shows them.
func (d *comparer) inHome(paths []string, known func(rel string) bool) (list []string, err error) {
	if d.name == "" { // as it is where the tree is back at the beginning of all
		d.name = path.Base(d.dir)
	}
	for _, arg := range paths {
		if below, ok := strings.CutPrefix(arg, "~/"); ok {
			if below = path.Clean(below); below == "." || below == ".." || strings.HasPrefix(below, "../") {
				return nil, selection.PathError{Err: fmt.Errorf("%s: it is not in the guest's home", quote.Name(arg, true))}
			}
			list = append(list, below)
			continue
		}
		limit, err := selection.To(d.dir, []string{arg}, known)
		if err != nil {
			return nil, err
		}
		list = append(list, path.Join(d.name, limit[0]))
	}
	return list, nil
}

// knows tells whether the host, or the guest at either moment, has a path of the workspace.
func (d *comparer) knows(rel string) bool {
	if st, err := d.stat(rel); err == nil && st.Mode != 0 {
		return true
	}
	for _, m := range []*sqlvfs.Moment{d.from, d.to} {
		at, err := d.follow(m, path.Join(d.name, rel))
		if err != nil || at != nil { // the writer tells what is wrong
			return true
		}
	}
	return false
}
