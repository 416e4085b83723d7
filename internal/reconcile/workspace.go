package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// Which directory of the host is which workspace of the database.

// workspacePath returns the absolute path of the directory.
func (o *Options) workspacePath() (string, error) {
	abs, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", o.Dir, err)
	}
	return abs, nil
}

// workspaceName returns how the workspace at a path is called in the database: as the user says, or as the
// database knows the path, or else as the directory is called.
func (o *Options) workspaceName(s *sqlvfs.Store, abs string) (string, error) {
	name := cmp.Or(o.Name, filepath.Base(abs))
	if o.Name == "" && s != nil {
		known, err := identity.NamesOf(s, abs)
		if err != nil {
			return "", o.reading(err)
		}
		if len(known) > 0 && !slices.Contains(known, name) {
			name = known[0]
		}
	}
	if !sqlvfs.ValidName(name) {
		if o.Name != "" {
			return "", cli.WithHint(fmt.Errorf("workspace %s: its name cannot be %s", abs, quote.Name(name, true)), "give a name without slashes")
		}
		return "", cli.WithHint(fmt.Errorf("workspace %s: it has no name", abs),
			"choose a directory below it")
	}
	return name, nil
}

// claim makes sure that the workspace in the database is this directory, before anything is compared.
// learn says that a database that knows of no such workspace gets one.
func (o *Options) claim(ctx context.Context, s *sqlvfs.Store, h *host, abs, name string, learn bool) error {
	if !learn {
		ok, err := sqlvfs.Query(s, func(tx *sqlvfs.Tx) (bool, error) {
			_, ok, _, err := tx.Child(tx.Root(), name)
			return ok, err
		})
		if err != nil {
			return o.reading(err)
		}
		learn = ok
	}
	return identity.Claim(ctx, s, h.dir, abs, name, identity.Options{Adopt: o.Adopt, Learn: learn})
}

// workspaceOf returns what a database knows of a workspace, if anything.
func workspaceOf(s *sqlvfs.Store, name string) (w sqlvfs.Workspace, known bool, err error) {
	list, err := sqlvfs.Query(s, (*sqlvfs.Tx).Workspaces)
	i := slices.IndexFunc(list, func(w sqlvfs.Workspace) bool { return w.Name == name })
	if i < 0 {
		return w, false, err
	}
	return list[i], true, err
}

// setWhole writes down that all of a workspace is in the database: it can be carried away.
func setWhole(s *sqlvfs.Store, name string) error {
	w, _, err := workspaceOf(s, name)
	if err != nil || w.Whole {
		return err
	}
	if err := s.Sync(); err != nil { // what is to be set may be all that is new
		return err
	}
	w, known, err := workspaceOf(s, name)
	if err != nil || !known {
		return err
	}
	return s.View(func(tx *sqlvfs.Tx) error {
		w.Whole = true
		tx.SetWorkspace(w)
		return nil
	})
}

// noWorkspace says what there is instead. A database without any workspace is that of a session that
// has changed nothing in its.
func (p *planner) noWorkspace(root *sqlvfs.Node) error {
	if _, known, err := workspaceOf(p.store, p.name); known || err != nil {
		return err // nothing is changed in it
	}
	var dirs []string
	for _, e := range root.Children {
		if p.tree.Node(e.Ino).Attr.IsDir() && !strings.HasPrefix(e.Name, ".") { // others are the guest's own
			dirs = append(dirs, quote.Name("/"+e.Name+"/", p.opt.StderrTerminal))
		}
	}
	slices.Sort(dirs)
	if len(dirs) == 0 {
		return nil
	}
	return cli.WithHint(fmt.Errorf("%s: no workspace /%s/: it has %s", p.opt.DB, p.name, strings.Join(dirs, ", ")),
		"give the name that it has in the database with --name, or push it first")
}

// An export is a pull into a new or empty directory that is not the workspace's: a copy out. It changes
// nothing in the database, which goes on to belong to the directory that it knows.

// exports reports whether a pull to a directory, which is open, is an export.
func (o *Options) exports(s *sqlvfs.Store, h *host, abs string) (bool, error) {
	empty, err := identity.Empty(h.dir, s.Path())
	if err != nil || !empty || o.Adopt {
		return false, err
	}
	known, err := identity.NamesOf(s, abs)
	return len(known) == 0, err
}

// exportName is the name of the workspace that is exported: the directory's, or that of the only one.
func (o *Options) exportName(s *sqlvfs.Store, abs string) (string, error) {
	name, err := o.workspaceName(s, abs)
	if err != nil && o.Name != "" {
		return "", err
	}
	var names, there []string
	err = s.View(func(tx *sqlvfs.Tx) (err error) {
		if names, err = tx.WorkspaceNames(); err != nil {
			return err
		}
		for _, name := range names {
			if _, ok, _, err := tx.Child(tx.Root(), name); ok || err != nil {
				there = append(there, name)
			}
		}
		return nil
	})
	if err != nil {
		return "", o.reading(err)
	}
	if o.Name != "" || slices.Contains(names, name) {
		return name, nil
	}
	// Of what is not there any more, nothing can be exported.
	names = there
	switch len(names) {
	case 0:
		return name, nil // what there is instead is reported when it is looked for
	case 1:
		return names[0], nil
	}
	for i, name := range names {
		names[i] = quote.Name(name, true)
	}
	return "", cli.WithHint(fmt.Errorf("%s: several workspaces are in it: %s", o.DB, strings.Join(names, ", ")), "name one of them with --name")
}

// noteExport says what an export cannot bring.
func (p *puller) noteExport() error {
	w, known, err := workspaceOf(p.store, p.name)
	if known && !w.Whole {
		p.report.Note("/"+p.name+"/", "only what the guest changed is in the database; the rest is in "+quote.Name(w.Path, true))
	}
	return err
}
