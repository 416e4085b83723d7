package overview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// Moved returns the database of a workspace that was moved to the directory where it is now: the one that knows this as its workspace, as
// one does that was adopted where it is, or else the one whose workspace had the same base name and is gone. It is never a fork.
func Moved(databases string, now workspace.Workspace) (string, error) {
	files, err := os.ReadDir(databases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("list the databases: %w", err)
	}
	var here, moved []string
	var others []*entry
	for _, f := range files {
		if _, ok := workspace.BaseName(f.Name()); !ok || !f.Type().IsRegular() {
			continue
		}
		switch e := look(filepath.Join(databases, f.Name())); {
		case e.Parent != "": // a fork belongs to its parent
		case e.Workspace == now.Dir:
			here = append(here, e.Database)
		case !e.Gone:
		case filepath.Base(e.Workspace) == filepath.Base(now.Dir):
			moved = append(moved, e.Database)
		default:
			others = append(others, e)
		}
	}
	if len(here) > 0 {
		moved = here
	}
	switch len(moved) {
	case 0:
		hint := "`art list` shows all; --db DB names one"
		if len(others) == 1 { // a directory that was renamed goes by its name of before in the database
			e := others[0]
			hint = fmt.Sprintf("if it is %s, which is gone: --db %s --name %s --adopt",
				quote.Name(e.Workspace, true), quote.Name(e.Database, true), quote.Name(filepath.Base(e.Workspace), true))
		}
		return "", cli.WithHint(fmt.Errorf("find the database of %s: no workspace of this name is gone", now.Dir), hint)
	case 1:
		return moved[0], nil
	}
	return "", cli.WithHint(fmt.Errorf("find the database of %s: it may be %s", now.Dir, strings.Join(moved, " or ")), "name one with --db DB")
}

// MayAdopt refuses what Adopt does: a database that has forks stays where these read it.
func MayAdopt(database string) error {
	if forks := forksOf(database); len(forks) > 0 {
		return cli.WithHint(fmt.Errorf("adopt database %s: %w: %s", database, sqlvfs.ErrHasForks, strings.Join(forks, ", ")),
			fmt.Sprintf("use it where it is, with --db %s --adopt, or remove these first, with art rm", quote.Name(database, true)))
	}
	return nil
}

// Adopt makes the database of a workspace that was moved that of the directory where it is now. waiting, which may be nil, is told of a process
// that is waited for.
func Adopt(database string, now workspace.Workspace, waiting func(pid int)) error {
	if err := MayAdopt(database); err != nil {
		return err
	}
	// What a session that was killed has left is folded into the file first.
	s, err := sqlvfs.Open(database, sqlvfs.Options{Waiting: waiting})
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		err = sqlvfs.Rename(database, now.Database)
	}
	if err != nil {
		return fmt.Errorf("adopt database %s: %w", database, err)
	}
	return nil
}
