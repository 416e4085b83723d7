package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// What is hidden in sessions no guest has seen. What the database says of where the content of the guest's files is on the
// host must not lead there: a pull would bring it to a path at which the next session shows it. And it stays where it is, though the guest
// has renamed or removed what it lies in: no guest has seen it, so none has meant it. Each file whose content is on the host at a path that
// the database gives goes through openSource, and each directory through gatherRenamed.

var errHidden = errors.New("it is hidden from guests")

// loadHidden finds out what is hidden.
func (p *planner) loadHidden() error {
	workspaces, databases := []string{p.host.dir.Name()}, workspace.Beside(p.database())
	if p.store != nil {
		forks, err := p.store.ForksBelow(p.host.dir.Name())
		if err != nil {
			return p.opt.reading(err)
		}
		databases = slices.Concat(databases, p.store.Parents(), forks)
		list, err := sqlvfs.Query(p.store, (*sqlvfs.Tx).Workspaces)
		if err != nil {
			return p.opt.reading(err)
		}
		for _, w := range list { // it may be a mount of theirs
			if !sqlvfs.IsLayer(w.Name) && w.Path != "" {
				workspaces = append(workspaces, w.Path)
			}
		}
	}
	paths, err := config.Hidden(os.Getenv, workspaces...)
	if err != nil {
		return err
	}
	p.hidden, err = hiddenBelow(p.host.dir.Name(), append(paths, databases...))
	return err
}

// hides reports whether a path of the host is hidden where the guest does not have it at the same one.
func (p *planner) hides(rel string, version sqlvfs.Fingerprint) bool {
	return p.hidden.has(rel) || p.hidden.is(version)
}

// leaveHidden leaves what comes from a path that is hidden.
func (p *planner) leaveHidden(a *item, source string) {
	p.stays(a, source)
	p.leave(a)
}

// stays tells that what an item would come from stays where it is.
func (p *planner) stays(a *item, source string) {
	if p.limit.Has(a.path) || p.limit.Has(source) {
		p.policy.unseen(source)
	}
	p.needed[source] = true
}

// unseen implements policy.
func (p *puller) unseen(rel string) {
	p.report.Hidden(p.hostPath(rel), errHidden.Error()+", and stays")
}

// unseen implements policy: it is no difference that the guest has made.
func (d *comparer) unseen(string) {}

// hiddenPaths are what is hidden below a directory. Of none, all is.
type hiddenPaths struct {
	below   map[string]bool
	objects map[object]bool // files may have other names
}

// hiddenBelow returns what is hidden below the directory dir, of absolute paths that are.
func hiddenBelow(dir string, paths []string) (*hiddenPaths, error) {
	p := &hiddenPaths{below: map[string]bool{config.Dir: true}, objects: map[object]bool{}}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		// A link, too, in whose place something else may come.
		if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(parent, filepath.Base(path))
		}
		p.add(real, path)
		if target, err := filepath.EvalSymlinks(path); err == nil {
			p.add(real, target)
		}
	}
	return p, nil
}

// add adds a path, and what SQLite keeps beside it if it is a database.
func (p *hiddenPaths) add(dir, path string) {
	rel, err := filepath.Rel(dir, path)
	if err == nil && rel != "." && filepath.IsLocal(rel) {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			p.below[rel+suffix] = true
		}
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		p.objects[object{st.Dev, st.Ino}] = true
	}
}

// has reports whether a path is hidden, or lies below what is.
func (p *hiddenPaths) has(rel string) bool {
	if p == nil {
		return true
	}
	for i := range len(rel) {
		if rel[i] == '/' && p.below[rel[:i]] {
			return true
		}
	}
	return p.below[rel]
}

// is reports whether a file is hidden under another of its names.
func (p *hiddenPaths) is(file sqlvfs.Fingerprint) bool {
	return p == nil || p.objects[object{file.Dev, file.Ino}]
}
