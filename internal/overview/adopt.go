package overview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// Adopt makes the database of a workspace that was moved that of the directory where it is now: the one whose workspace
// had the same base name and is gone.
func Adopt(databases string, now workspace.Workspace) error {
	files, err := os.ReadDir(databases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the databases: %w", err)
	}
	var moved []string
	for _, f := range files {
		if _, ok := workspace.BaseName(f.Name()); !ok || !f.Type().IsRegular() {
			continue
		}
		if e := look(filepath.Join(databases, f.Name())); e.Gone && filepath.Base(e.Workspace) == filepath.Base(now.Dir) {
			moved = append(moved, e.Database)
		}
	}
	switch len(moved) {
	case 0:
		return cli.WithHint(fmt.Errorf("find the database of %s: no workspace of this name is gone", now.Dir), "`art list` shows all; --db DB names one")
	case 1:
	default:
		return cli.WithHint(fmt.Errorf("find the database of %s: it may be %s", now.Dir, strings.Join(moved, " or ")), "name one with --db DB")
	}
	// What a session that was killed has left is folded into the file first.
	s, err := sqlvfs.Open(moved[0], sqlvfs.Options{})
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		err = sqlvfs.Rename(moved[0], now.Database)
	}
	if err != nil {
		return fmt.Errorf("adopt database %s: %w", moved[0], err)
	}
	return nil
}
