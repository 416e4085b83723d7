package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/internal/reconcile/staging"
)

// The host's file system may hold less than the guest's: two names may be one to it, since it does
// not tell upper from lower case (vfat; directories of ext4 and tmpfs that fold case), names may be
// too long or have characters that it refuses, and there may be no links, or no modes. All of this
// is found out by trying, in a hidden directory, before anything is changed (package staging).

// preflight finds out whether the host can hold what is planned. The error says what it cannot.
func (p *puller) preflight() error {
	wants := map[string]*want{} // by directory
	for _, a := range p.ops {
		if a.left || a.do != mkdir && a.do != write && a.do != symlink && a.do != hardLink {
			continue
		}
		dir := path.Dir(a.path)
		w := wants[dir]
		if w == nil {
			w = &want{}
			wants[dir] = w
		}
		w.names = append(w.names, path.Base(a.path))
		w.symlink = w.symlink || a.do == symlink
		w.hardLink = w.hardLink || a.do == hardLink
	}
	trials := staging.NewTrials(p.host.openDir)
	defer trials.End()
	err := p.refused
	for _, dir := range slices.Sorted(maps.Keys(wants)) {
		if err != nil {
			break
		}
		err = p.preflightIn(trials, dir, wants[dir])
	}
	return cli.WithHint(err, "nothing was changed; name the paths to pull, or pull into a directory of that name on another file system")
}

// want is what is to be made in a directory.
type want struct {
	names             []string
	symlink, hardLink bool // one of them is to be such a link
}

// preflightIn tries what is to be made in a directory. What cannot be tried will be reported when it is
// done.
func (p *puller) preflightIn(trials *staging.Trials, dir string, w *want) error {
	t, at, err := trials.In(dir)
	if err != nil {
		return nil
	}
	if err := t.Holds(w.symlink, w.hardLink); err != nil {
		return fmt.Errorf("%s: %w", p.hostPath(at), err)
	}
	if t.AnyName {
		return nil
	}
	names := w.names
	if at == dir {
		d, err := p.host.openDir(dir)
		if err != nil {
			return nil
		}
		there, err := hostfs.Names(d)
		d.Close()
		if err != nil {
			return nil
		}
		names = append(there, names...)
	}
	slices.Sort(names)
	var one *staging.OneNameError
	switch name, err := t.Names(slices.Compact(names)); {
	case errors.As(err, &one):
		return fmt.Errorf("%s: it and %s are one name to the host's file system",
			p.hostPath(join(dir, name)), p.hostPath(join(dir, one.Other)))
	case err != nil:
		return fmt.Errorf("%s: %w", p.hostPath(join(dir, name)), err)
	}
	return nil
}

// refusedName reports whether an error says that a file system does not take a name.
func refusedName(err error) bool {
	return errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EILSEQ)
}
