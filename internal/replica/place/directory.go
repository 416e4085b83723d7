package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/riverlytech/art/internal/cli"
)

// Directory is the directory of this host that a place is, or "".
func Directory(text string) string {
	if u, err := Parse(text); err == nil && u.Scheme == File {
		return u.Path
	}
	return ""
}

// Make makes the directory of a place, if it is one. That in which it lies has to be there: where a disk is not mounted, the copy would go to
// another one.
func Make(text string) error {
	dir := Directory(text)
	if dir == "" {
		return nil
	}
	parent := filepath.Dir(dir)
	if info, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return cli.WithHint(fmt.Errorf("the directory %s does not exist", parent), "make it with mkdir -p, or mount what belongs there")
	} else if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", parent)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", dir, cli.Reason(err))
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}
