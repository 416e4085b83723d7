package reconcile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Reset gives up what the guest changed in the workspace opt.Dir: rows, whiteouts and baselines of opt.Paths,
// and of what is below them, go from the database, so that the host's shows through again; where a push had
// stored the workspace, it stores the host's. What is given up is printed as [Diff] does. Other parts of
// the guest's home stay.
//
// Without paths, all of the workspace is reset: that the user is asked about on a terminal, and must have
// said by opt.Force elsewhere.
func Reset(ctx context.Context, opt Options) error {
	opt.ctx, opt.Form, opt.NoIgnored, opt.Exclude = ctx, Names, false, nil
	if len(opt.Paths) == 0 && !opt.Force && !opt.DryRun && !opt.StdinTerminal {
		return PathError{Err: cli.WithHint(errors.New("no path was given: that would give up all that the guest changed"),
			"name the paths, or add --force")}
	}
	s, err := openForReading(&opt, opt.DryRun)
	if err != nil {
		return err
	}
	r := &resetter{comparer{planner: *s}}
	r.policy, r.filter = r, nil // also what is left out elsewhere is given up
	defer r.closeRepos()
	if err := r.takeNames(); err != nil {
		return s.close(err)
	}
	pushed := r.base["."] != nil && r.base["."].Row != 0
	var again []string // what push is to store
	for _, at := range r.limit {
		if _, err := r.host.stat(at); err == nil {
			again = append(again, path.Join(r.host.dir.Name(), at))
		}
	}
	done, err := r.run()
	if err = r.report.End(s.close(err)); err != nil || !done || !pushed || len(r.limit) > 0 && again == nil {
		return err
	}
	return opt.pushAgain(ctx, again)
}

// takeNames adds to the paths the other names of host files that are among them and that the guest changed
// under those: a file is given up with all of the host's names.
func (r *resetter) takeNames() error {
	if r.top == nil || len(r.limit) == 0 {
		return nil
	}
	others := map[object][]string{}
	for dir, at := range r.places {
		for _, e := range r.tree.Node(dir).Children {
			n, at := r.tree.Node(e.Ino), join(at, e.Name)
			if b := r.base[at]; !n.Attr.IsRegular() || r.limit.Has(at) || b != nil && b.Row == n.Ino && b.RowCtime == n.Attr.Ctime {
				continue
			}
			if st, err := r.host.stat(at); err == nil && st.Nlink > 1 {
				others[objectOf(&st)] = append(others[objectOf(&st)], at)
			}
		}
	}
	todo := slices.Clone(r.limit)
	for len(todo) > 0 && len(others) > 0 && r.ctx.Err() == nil {
		at := todo[0]
		todo = todo[1:]
		st, err := r.host.stat(at)
		if err != nil {
			continue
		}
		if kind(st.Mode) != unix.S_IFDIR {
			r.limit = append(r.limit, others[objectOf(&st)]...)
			delete(others, objectOf(&st))
			continue
		}
		d, err := r.host.openDir(at)
		if err != nil {
			continue
		}
		names, _ := hostfs.Names(d)
		d.Close()
		for _, name := range names {
			todo = append(todo, join(at, name))
		}
	}
	return r.interrupted()
}

// resetter is one run of Reset. What cannot be compared can be given up all the same.
type resetter struct{ comparer }

func (r *resetter) fail(a *item, _ error) { r.leave(a) }
func (r *resetter) lacking(*item, error)  {}

// run reports whether anything was given up.
func (r *resetter) run() (done bool, err error) {
	if r.top == nil {
		if err := r.openExternal(); err != nil || r.repos[external] == nil {
			return false, err
		}
	} else if err := r.compare(); err != nil {
		return false, err
	}
	r.find()
	for _, at := range r.limit {
		if err := r.reachable(at); err != nil {
			return false, err
		}
		if r.absent != nil && at != "." {
			return false, PathError{Err: cli.WithHint(fmt.Errorf("%s: %s", r.report.ErrName(at), r.absent.why), "reset all of it: art reset without a path")}
		}
	}
	r.showRefs()
	if err := r.printer().Print(r.shown()); err != nil {
		return false, err
	}
	r.report.Flush()
	if r.opt.DryRun {
		return false, nil
	}
	if len(r.limit) == 0 && !r.opt.Force && !r.asked() {
		return false, errors.New("nothing was given up")
	}
	limit := r.limit
	if len(limit) == 0 {
		limit = []string{"."}
	}
	for _, at := range limit {
		if err == nil && r.top != nil {
			err = r.giveUp(at)
		}
	}
	if err == nil {
		err = r.discardExternal()
	}
	if err == nil {
		err = r.letGo()
	}
	if err != nil {
		return false, r.opt.writing(err)
	}
	return true, nil
}

// asked asks the user about all of the workspace.
func (r *resetter) asked() bool {
	fmt.Fprintf(r.opt.Stderr, "Give up all that the guest changed in %s? [y/N] ", quote.Name("/"+r.name+"/", r.opt.StderrTerminal))
	answer, _ := bufio.NewReader(r.opt.Stdin).ReadString('\n')
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// reachable refuses a path in a directory that the guest has removed or replaced: there is nowhere to show it.
func (r *resetter) reachable(at string) error {
	gone := ""
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if n, from := r.guestAt(dir); n == nil && from == "" || n != nil && !n.Attr.IsDir() {
			gone = dir
		}
	}
	if gone == "" {
		return nil
	}
	return PathError{Err: cli.WithHint(fmt.Errorf("%s: the guest has removed or replaced %s", r.report.ErrName(at), r.report.ErrName(gone)),
		"reset that")}
}

// giveUp removes what the database has of a path, and of what is below it.
func (r *resetter) giveUp(at string) error {
	rows := r.rows()
	dir, name := rows.root(), r.name
	if at != "." {
		rows.put(dir)
		var err error
		if dir, err = rows.walk(r.name, path.Dir(at)); err != nil {
			return err
		}
		name = path.Base(at)
	}
	if dir == nil { // the guest has changed nothing there
		return r.store.View(func(tx *sqlvfs.Tx) error {
			r.forgetBelow(tx, at)
			return nil
		})
	}
	defer rows.put(dir)
	st, _ := r.host.stat(at) // where there is nothing, nothing shows
	err := rows.do(func(tx *sqlvfs.Tx) error {
		hidden, err := r.uncover(tx, dir, name, at)
		if hidden && kind(st.Mode) == unix.S_IFDIR {
			dir.Attr.Nlink++ // a session counts what shows through, too
			tx.Dirty(dir)
		}
		return err
	})
	if at == "." && err == nil {
		err = rows.countSubdirectories(dir) // but for the workspace itself
	}
	return err
}

// letGo makes rows that live on elsewhere independent of the host's files that were reset, and of those that
// these are other names of: otherwise they would show there.
func (r *resetter) letGo() error {
	given := map[sqlvfs.Ino]*sqlvfs.Node{}
	for at, n := range r.origins {
		if n.Attr.IsRegular() && r.limit.Has(at) {
			given[n.Ino] = n
		}
	}
	for _, a := range r.items {
		if n := a.row(); n != nil && n.Attr.IsRegular() && r.limit.Has(a.path) && (a.link != nil || a.host.Nlink > 1) {
			given[n.Ino] = n
		}
	}
	names := map[sqlvfs.Ino]uint32{} // that stay
	r.tree.All(func(dir *sqlvfs.Node) {
		at, inside := r.places[dir.Ino]
		for _, e := range dir.Children {
			if given[e.Ino] != nil && (!inside || !r.limit.Has(join(at, e.Name))) {
				names[e.Ino]++
			}
		}
	})
	for ino, n := range given {
		if err := r.independent(n, names[ino]); err != nil {
			return err
		}
	}
	return nil
}

// independent gives a row all of its content, and no origin; without a name, it goes.
func (r *resetter) independent(n *sqlvfs.Node, names uint32) error {
	row, err := r.rows().get(n.Ino)
	if names == 0 && errors.Is(err, sqlvfs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.rows().put(row)
	if o := row.Origin; names > 0 && o != nil && o.Limit > 0 {
		f, err := r.openSource(&item{source: o.Path, version: o.Fingerprint})
		if err != nil {
			return nil // it shows nowhere else, since the host has another version
		}
		defer f.Close()
		if err := r.store.Fill(row, f, false, func(int) error { return r.ctx.Err() }); err != nil {
			return err
		}
	}
	return r.rows().change(row, func(tx *sqlvfs.Tx) {
		row.Attr.Nlink = names
		if names > 0 {
			tx.SetOrigin(row, nil)
		}
	})
}
