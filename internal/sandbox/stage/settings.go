package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

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

func marshalSettings(files []config.File) (list []string) {
	for _, f := range files {
		list = append(list, f.Path, string(f.Text), strconv.FormatUint(uint64(f.Mode), 8), strconv.FormatInt(f.Modified.UnixNano(), 10))
	}
	return list
}

func unmarshalSettings(list []string) (files []config.File, err error) {
	for f := range slices.Chunk(list, 4) {
		mode, err := strconv.ParseUint(f[2], 8, 32)
		if err != nil {
			return nil, err
		}
		modified, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return nil, err
		}
		files = append(files, config.File{Path: f[0], Text: []byte(f[1]), Mode: os.FileMode(mode), Modified: time.Unix(0, modified)})
	}
	return files, nil
}
