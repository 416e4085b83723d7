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
	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/gitdir"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/private"
	"github.com/riverlytech/art/internal/sandbox/stage"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/libexec"
)

// The database may lie over more directories of the host than the workspace. Each of these layers has a mount of FUSE of
// its own, which the view binds where the guest is to see it.

// layer is one of them.
type layer struct {
	kind string // git, tree: the repository's (repository.go); mount: a mount of mode overlay
	gitdir.Place
}

// addLayer adds a layer, and returns what the view knows its mount by. The same directory is the same tree, wherever
// it shows.
func (p *prepared) addLayer(kind string, place gitdir.Place) (source string) {
	l := layer{kind, place}
	i := slices.Index(p.layers, l)
	if i < 0 {
		i = len(p.layers)
		p.layers = append(p.layers, l)
		p.plan.Layers++
	}
	return p.plan.Layer(i)
}

// addOverlay adds the layer of a mount of mode overlay, of which st is the host's.
func (p *prepared) addOverlay(m *config.Mount, st *unix.Stat_t, mounts []config.Mount) (source string, err error) {
	workspace := view.Resolve(p.plan.Workspace)
	switch {
	case p.plan.Database == "":
		err = cli.WithHint(errors.New("this session has no database for what the guest writes there"),
			"start one that has: art run, or --db DB; or make the mount's mode ro or rw")
	case view.Within(m.On(workspace), workspace):
		err = errInWorkspace
	case view.Within(workspace, m.Host):
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
	p.layerHide = append(p.layerHide, hidden...)
	p.layerHide = append(p.layerHide, privateIn(m.Host, p.plan.View.PersonalDirs, mounts)...)
	return p.addLayer("mount", gitdir.Place{Path: m.Host, Dev: st.Dev, Ino: st.Ino}), nil
}

// privateIn returns what of the homes' private files lies in a directory, whether it is there or not, but for those of which
// a mount has something: that names them.
func privateIn(dir string, homes []string, mounts []config.Mount) (paths []string) {
	for _, home := range homes {
		for _, name := range private.Names() {
			path := filepath.Join(view.Resolve(home), name)
			named := slices.ContainsFunc(mounts, func(m config.Mount) bool { return view.Within(m.Host, path) })
			if path != dir && view.Within(path, dir) && !named {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// layerArgs are the arguments of art-fuse for the layers.
func (p *prepared) layerArgs() (args []string) {
	for _, l := range p.layers {
		args = append(args, "--layer", fmt.Sprintf("%s:%d:%d:%s", l.kind, l.Dev, l.Ino, l.Path))
	}
	if len(p.layers) > 0 {
		for _, path := range slices.Concat(p.plan.Hide, p.layerHide) {
			args = append(args, "--layer-hide", path)
		}
	}
	if p.within() {
		args = append(args, "--tracked", p.repository.Index())
	}
	return args
}

// requireLayers refuses a session that cannot have more than one mount of FUSE. It goes without the repository's layers,
// but not without a mount that was asked for.
func (s *session) requireLayers(why error) error {
	for _, l := range s.layers {
		if l.kind == "mount" {
			return cli.WithHint(fmt.Errorf("mount %s as an overlay: FUSE cannot be mounted in a user namespace: %w", l.Path, why),
				hint.Host{}.FUSE(true))
		}
	}
	return nil
}

// dropLayers has art-fuse serve the home alone: fusermount3 has mounted nothing else.
func (s *session) dropLayers() error {
	for range s.layers {
		if err := libexec.SendFD(s.control, -1, []byte(stage.NoMount)); err != nil {
			return fmt.Errorf("start art-fuse: it ended: %w", err)
		}
	}
	if len(s.layers) > 0 && !s.quiet {
		fmt.Fprintln(os.Stderr, "art: git does not find its directory in this session, since FUSE cannot be mounted in a user namespace (see art doctor)")
	}
	s.layers, s.plan.Layers, s.plan.View.Layers = nil, 0, nil
	return nil
}
