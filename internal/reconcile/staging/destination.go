package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/riverlytech/art/internal/hostfs"
)

// Destination is the directory of a pull, made if it was not there.
type Destination struct {
	made []string // directories, each in the one before
	Path string   // what stands for the directory: itself, or in a dry run an empty one
}

// MakeDestination makes the directory of a pull if there is none. In a dry run, an empty one elsewhere
// stands for it.
func MakeDestination(abs string, umask os.FileMode, dryRun bool) (d Destination, err error) {
	d.Path = abs
	if _, err := os.Stat(abs); !errors.Is(err, fs.ErrNotExist) {
		return d, nil // what else is wrong is reported when it is opened
	}
	if _, err := os.Lstat(abs); err == nil {
		return d, nil // a link that leads nowhere
	}
	if dryRun {
		if d.Path, err = os.MkdirTemp("", "art-sync-"); err == nil {
			d.made = []string{d.Path}
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
		if err := os.Mkdir(dir, 0o777&^umask); err != nil {
			d.made = d.made[:i]
			d.Remove()
			return d, fmt.Errorf("workspace %s: make %s: %w", abs, dir, hostfs.Unwrap(err))
		}
	}
	return d, nil
}

// Remove removes what was made, as far as nothing is in it.
func (d *Destination) Remove() {
	for _, dir := range slices.Backward(d.made) {
		if os.Remove(dir) != nil {
			return
		}
	}
}
