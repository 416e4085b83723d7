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

// inTree is inHome for what is there now, or was at a checkpoint.
func inTree(ctx context.Context, name string, paths []string, o *Options) (list []string, err error) {
	live.Settle(o.DB)
	then, now, err := sqlvfs.OpenMoments(o.DB, name, "")
	if err != nil {
		return nil, fmt.Errorf("rewind in %s: %w", o.DB, Hinted(o.DB, err))
	}
	defer then.Close()
	defer now.Close()
	d := &comparer{ctx: ctx, from: then, to: now, opt: &DiffOptions{Prog: o.Prog, DB: o.DB, Dir: o.Dir}}
	if err := d.findWorkspace(); err != nil {
		return nil, err
	}
	if d.host != nil {
		defer d.host.Close()
	}
	return d.inHome(paths, d.knows)
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
		at, err := d.object(m, sqlvfs.RootIno)
		for name := range strings.SplitSeq(path.Join(d.name, rel), "/") {
			if err == nil {
				at, err = d.child(at, name)
			}
		}
		if err != nil || at != nil { // the writer tells what is wrong
			return true
		}
	}
	return false
}
