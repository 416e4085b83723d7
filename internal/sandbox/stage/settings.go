package stage

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
)

// coverSettings covers the workspace's own directory of art's with a read-only one, in which
// there is nothing but copies of the plan's files.
func (h *handles) coverSettings(p *Plan) (err error) {
	switch {
	case h.dotArt < 0:
	case len(p.Settings) == 0:
		// A session in direct mode may just have removed one that it had made for itself.
		err = h.coverOpen(h.dotArt, func() (int, error) { return openPath(p.DotArt) })
	default:
		err = h.showSettings(p)
	}
	if err != nil {
		return fmt.Errorf("cover %s: %w", p.DotArt, err)
	}
	return nil
}

func (h *handles) showSettings(p *Plan) error {
	for _, f := range p.Settings {
		if err := copySettings(p.staged(f.Path), &f); err != nil {
			return err
		}
	}
	tree, err := clone(unix.AT_FDCWD, p.staged(config.Dir))
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := restrict(tree, "", inert|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	return attach(tree, h.dotArt)
}

// copySettings makes a file with the host's mode and times, by which programs know it, but
// readable.
func copySettings(path string, f *config.File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.Text, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(path, f.Mode|0o400); err != nil {
		return err
	}
	return os.Chtimes(path, f.Modified, f.Modified)
}
