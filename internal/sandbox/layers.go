package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/internal/private"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// The database may lie over more directories of the host than the workspace. Each of these layers has a mount of FUSE of
// its own, which the view binds where the guest is to see it.

// addLayer adds a layer, and returns what the view knows its mount by. The same directory is the same tree, wherever
// it shows.
func (p *prepared) addLayer(kind control.LayerKind, place gitdir.Place) (source string) {
	l := control.Layer{Kind: kind, Dev: place.Dev, Ino: place.Ino, Dir: place.Path}
	i := slices.Index(p.serve.Layers, l)
	if i < 0 {
		i = len(p.serve.Layers)
		p.serve.Layers = append(p.serve.Layers, l)
		p.plan.Layers++
	}
	return p.plan.Layer(i)
}

// addOverlay adds the layer of a mount of mode overlay, of which st is the host's.
func (p *prepared) addOverlay(m *config.Mount, st *unix.Stat_t, mounts []config.Mount) (source string, err error) {
	workspace := paths.Resolve(p.plan.Workspace)
	switch {
	case p.plan.Database == "":
		err = cli.WithHint(errors.New("this session has no database for what the guest writes there"),
			"start one that has: art run, or --db DB; or make the mount's mode ro or rw")
	case paths.Within(m.On(workspace), workspace):
		err = errInWorkspace
	case paths.Within(workspace, m.Host):
		err = cli.WithHint(errors.New("the workspace lies in it"), "name the directories in it that the guest needs")
	case st.Mode&unix.S_IFMT == unix.S_IFREG:
		err = cli.WithHint(fmt.Errorf("a single file can be one only in the guest's home, beside the workspace and other mounts, and up to %d MiB", files.MaxSize>>20),
			"let its guest path be in "+view.Home+", or make the mount's mode ro or rw")
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		err = errors.New("it is neither a directory nor a regular file")
	}
	if err != nil {
		return "", fmt.Errorf("%s: host path %q as an overlay: %w", m.Origin, m.Host, err)
	}
	hidden, err := stage.PrivateIn(m.Host, os.Getuid() == 0)
	if err != nil {
		return "", err
	}
	p.serve.LayerHide = append(p.serve.LayerHide, hidden...)
	p.serve.LayerHide = append(p.serve.LayerHide, privateIn(m.Host, p.plan.View.PersonalDirs, mounts)...)
	return p.addLayer(control.Other, gitdir.Place{Path: m.Host, Dev: st.Dev, Ino: st.Ino}), nil
}

// privateIn returns what of the homes' private files lies in a directory, whether it is there or not, but for those of which
// a mount has something: that names them.
func privateIn(dir string, homes []string, mounts []config.Mount) (found []string) {
	for _, home := range homes {
		for _, name := range private.Names() {
			path := filepath.Join(paths.Resolve(home), name)
			named := slices.ContainsFunc(mounts, func(m config.Mount) bool { return paths.Within(m.Host, path) })
			if path != dir && paths.Within(path, dir) && !named {
				found = append(found, path)
			}
		}
	}
	return found
}

// requireLayers refuses a session that cannot have more than one mount of FUSE. It goes without the repository's layers,
// but not without a mount that was asked for.
func (s *session) requireLayers(why error) error {
	for _, l := range s.serve.Layers {
		if l.Kind == control.Other {
			return cli.WithHint(fmt.Errorf("mount %s as an overlay: FUSE cannot be mounted in a user namespace: %w", l.Dir, why),
				hint.Host{}.FUSE(true))
		}
	}
	return nil
}

// dropLayers has art-fuse serve the home alone: fusermount3 has mounted nothing else.
func (s *session) dropLayers() error {
	for range s.serve.Layers {
		if err := control.Send(s.control, -1, control.Message{Kind: control.NoMount}); err != nil {
			return fmt.Errorf("start art-fuse: it ended: %w", err)
		}
	}
	if len(s.serve.Layers) > 0 && !s.quiet {
		fmt.Fprintln(os.Stderr, "art: git does not find its directory in this session, since FUSE cannot be mounted in a user namespace (see art doctor)")
	}
	s.serve.Layers, s.plan.Layers, s.plan.View.Layers = nil, 0, nil
	return nil
}
