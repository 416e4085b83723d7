package sync

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// The host's file system may hold less than the guest's: two names may be one to it, since it does
// not tell upper from lower case (vfat; directories of ext4 and tmpfs that fold case), names may be
// too long or have characters that it refuses, and there may be no links, or no modes. All of this
// is found out by trying, in a hidden directory, before anything is changed (trial.go).

// fits finds out whether the host can hold what is planned. The error says what it cannot.
func (p *puller) fits() error {
	names := map[string][]string{} // by directory
	var need needs
	for _, a := range p.actions {
		if a.failed || !p.limit.has(a.path) {
			continue
		}
		switch a.do {
		case mkdir, write:
		case symlink:
			need.symlink = true
		case hardLink:
			need.hardLink = true
		default:
			continue
		}
		dir := path.Dir(a.path)
		names[dir] = append(names[dir], path.Base(a.path))
	}
	trials := map[nameRules]*trial{}
	defer func() {
		for _, t := range trials {
			t.end()
		}
	}()
	err := p.refused
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		if err != nil {
			break
		}
		err = p.fitsIn(dir, names[dir], need, trials)
	}
	return cli.WithHint(err, "nothing was changed; name the paths to pull, or pull into a directory of that name on another file system")
}

// fitsIn tries the names that are new to a directory. What cannot be tried will be told when it is
// done.
func (p *puller) fitsIn(dir string, names []string, need needs, trials map[nameRules]*trial) error {
	d, at, err := p.nearest(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	rules, err := rulesOf(d)
	if err != nil {
		return nil
	}
	t := trials[rules]
	if t == nil {
		if t, err = newTrial(d); err != nil {
			return nil
		}
		trials[rules] = t
		if err := t.holds(need); err != nil {
			return fmt.Errorf("%s: %w", p.hostPath(at), err)
		}
	}
	if t.anyName {
		return nil
	}
	if at == dir {
		d.Seek(0, 0)
		there, err := entries(d)
		if err != nil {
			return nil
		}
		names = append(there, names...)
	}
	slices.Sort(names)
	var one *oneNameError
	switch name, err := t.names(slices.Compact(names)); {
	case errors.As(err, &one):
		return fmt.Errorf("%s: it and %s are one name to the host's file system",
			p.hostPath(join(dir, name)), p.hostPath(join(dir, one.other)))
	case err != nil:
		return fmt.Errorf("%s: %w", p.hostPath(join(dir, name)), err)
	}
	return nil
}

// nearest opens a directory of the workspace, or the one above it that the host has.
func (p *puller) nearest(rel string) (d *os.File, at string, err error) {
	for at = rel; ; at = path.Dir(at) {
		d, err = p.host.openDir(at)
		if err != unix.ENOENT && err != unix.ENOTDIR && err != unix.ELOOP || at == "." {
			return d, at, err
		}
	}
}

// refusedName tells whether an error says that a file system does not take a name.
func refusedName(err error) bool {
	return err == unix.ENAMETOOLONG || err == unix.EINVAL || err == unix.EILSEQ
}
