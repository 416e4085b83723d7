package sync

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostdir"
	"github.com/riverlytech/art/internal/identity"
	"github.com/riverlytech/art/internal/sync/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// An export is a pull into a new or empty directory that is not the workspace's: a copy out. It changes
// nothing in the database, which goes on to belong to the directory that it knows.

// destination is the directory of a pull, made if it was not there.
type destination struct {
	made []string // directories, each in the one before
	open string   // what stands for the directory: itself, or in a dry run an empty one
}

// makeDestination makes the directory of a pull if there is none. In a dry run, an empty one elsewhere
// stands for it.
func (o *Options) makeDestination(abs string) (d destination, err error) {
	d.open = abs
	if _, err := os.Stat(abs); !errors.Is(err, fs.ErrNotExist) {
		return d, nil // what else is wrong is told when it is opened
	}
	if _, err := os.Lstat(abs); err == nil {
		return d, nil // a link that leads nowhere
	}
	if o.DryRun {
		if d.open, err = os.MkdirTemp("", "art-sync-"); err == nil {
			d.made = []string{d.open}
		}
		return d, err
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == "/" {
			break
		}
		d.made = append(d.made, dir)
	}
	slices.Reverse(d.made)
	for i, dir := range d.made {
		if err := os.Mkdir(dir, 0o777&^o.Umask); err != nil {
			d.made = d.made[:i]
			d.remove()
			return d, fmt.Errorf("workspace %s: make %s: %w", abs, dir, hostdir.Unwrap(err))
		}
	}
	return d, nil
}

// remove removes what was made, as far as nothing is in it.
func (d *destination) remove() {
	for _, dir := range slices.Backward(d.made) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// exports tells whether a pull to a directory, which is open, is an export.
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
	s.Lock()
	defer s.Unlock()
	names, err := s.WorkspaceNames()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", o.DB, err)
	}
	if o.Name != "" || slices.Contains(names, name) {
		return name, nil
	}
	// Of what is not there any more, nothing can be exported.
	names = slices.DeleteFunc(names, func(name string) bool {
		_, there, _, err := s.Child(s.Root(), name)
		return err == nil && !there
	})
	switch len(names) {
	case 0:
		return name, nil // what there is instead is told when it is looked for
	case 1:
		return names[0], nil
	}
	for i, name := range names {
		names[i] = quote.Name(name, true)
	}
	return "", cli.WithHint(fmt.Errorf("%s: several workspaces are in it: %s", o.DB, strings.Join(names, ", ")), "name one of them with --name")
}

// tellExport says what an export cannot bring.
func (p *puller) tellExport() error {
	p.store.Lock()
	w, known, err := workspaceOf(p.store, p.name)
	p.store.Unlock()
	if known && !w.Whole {
		p.report.note("/"+p.name+"/", "only what the guest changed is in the database; the rest is in "+quote.Name(w.Path, true))
	}
	return err
}
