// Package hidden knows what of a directory of the host no guest sees. What the database says of where the content of the
// guest's files is on the host must not lead there: a pull would bring it to a path at which the next session shows it.
package hidden

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/sqlvfs"
)

// Paths are what is hidden below a directory. Of none, all is.
type Paths struct {
	below   map[string]bool
	objects map[object]bool // files may have other names
}

type object struct{ dev, ino uint64 }

// Of returns what is hidden below the directory dir, of absolute paths that are.
func Of(dir string, paths []string) (*Paths, error) {
	p := &Paths{below: map[string]bool{config.Dir: true}, objects: map[object]bool{}}
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
func (p *Paths) add(dir, path string) {
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

// Has tells whether a path is hidden, or lies below what is.
func (p *Paths) Has(rel string) bool {
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

// Is tells whether a file is hidden under another of its names.
func (p *Paths) Is(file sqlvfs.Fingerprint) bool {
	return p == nil || p.objects[object{file.Dev, file.Ino}]
}
