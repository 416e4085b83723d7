package overview

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/replica/place"
	running "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/workspace"
	"github.com/riverlytech/art/sqlvfs"
)

// RemoveOptions say how to remove a database.
type RemoveOptions struct {
	Stderr io.Writer
	// Force removes it without a question, whatever is pending.
	Force bool
	// Answer is where to read the answer to a question from; nil: nobody can be asked.
	Answer io.Reader
	Quiet  bool
	// Forget has the parent of a fork that was removed from a path forget it, if that is where it was made: another one is a copy of it; nil:
	// nobody does.
	Forget func(ctx context.Context, parent, path string, secret []byte) error
}

// Remove removes a database. If there may be anything in it that is nowhere else, somebody has to say that this is meant.
//
// dir is the workspace, or "" to take the database's word for it.
func Remove(ctx context.Context, dir, database string, o RemoveOptions) error {
	var waiting func(pid int)
	if !o.Quiet {
		waiting = cli.Waiting(o.Stderr, "art", database)
	}
	if err := sqlvfs.Await(database, waiting); err != nil {
		return removing(database, err)
	}
	parent, secret, err := sqlvfs.ForkOf(database)
	if err != nil {
		parent = "" // it may be damaged, and is to go
	}
	forks := forksOf(database)
	if err := unused(database, forks); err != nil {
		return err
	}
	if !o.Force && !untouched(database, waiting) {
		what := unpulled(ctx, dir, database)
		if len(forks) > 0 {
			return needed(database, forks, what)
		}
		if what != "" {
			if err := o.confirm(database, what); err != nil {
				return err
			}
		}
	}
	copied := copiedTo(database)
	if err := sqlvfs.Remove(database); err != nil {
		return removing(database, err)
	}
	if !o.Quiet {
		fmt.Fprintf(o.Stderr, "art: removed %s\n", cli.Printable(database))
		if len(forks) > 0 {
			fmt.Fprintf(o.Stderr, "art: its forks cannot be used any more: %s\n", cli.Printable(strings.Join(forks, ", ")))
		}
		for _, url := range copied {
			fmt.Fprintf(o.Stderr, "art: it was copied to %s, where its copy stays until art rm %[1]s\n", quote.Name(url, true))
		}
	}
	if parent != "" && o.Forget != nil {
		if err := o.Forget(ctx, parent, database, secret); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.WithHint(fmt.Errorf("%s is removed, but its parent keeps a checkpoint for it: %w", database, err), "art gc --gone -d "+parent)
		}
	}
	return nil
}

// copiedTo are the places of copies of a database; none, if that cannot be read.
func copiedTo(database string) (urls []string) {
	s, err := sqlvfs.Open(database, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer s.Close()
	_ = s.View(func(tx *sqlvfs.Tx) (err error) {
		urls, err = tx.Copied()
		return err
	})
	return slices.DeleteFunc(urls, func(url string) bool {
		_, err := place.Parse(url)
		return err != nil
	})
}

// untouched tells whether a database is a fork that has nothing of its own.
func untouched(database string, waiting func(pid int)) bool {
	if parent, _, err := sqlvfs.ForkOf(database); err != nil || parent == "" {
		return false
	}
	s, err := sqlvfs.Open(database, sqlvfs.Options{Waiting: waiting})
	if err != nil {
		return false // who looks closer says why
	}
	defer s.Close()
	is, err := s.Untouched()
	return is && err == nil
}

// removing is the error of removing a database.
func removing(database string, err error) error {
	hint := ""
	if used, ok := errors.AsType[*sqlvfs.InUseError](err); ok {
		hint = endFirst(database, used.PID)
	}
	return cli.WithHint(fmt.Errorf("remove database %s: %w", database, err), hint)
}

// endFirst says how to end the session that uses a database.
func endFirst(database string, pid int) string {
	hint := running.InUse(os.Getenv, database)
	switch {
	case hint != "":
		return hint
	case pid != 0:
		return fmt.Sprintf("end that session first (process %d)", pid)
	}
	return "end that session first"
}

// confirm asks whether a database is to go of which what is said.
func (o *RemoveOptions) confirm(database, what string) error {
	err := fmt.Errorf("remove database %s: it %s", database, what)
	if o.Answer == nil {
		hint := "--force removes it all the same"
		if !strings.HasPrefix(what, unreadable) {
			hint = "art pull brings changes to the workspace; " + hint
		}
		return cli.WithHint(err, hint)
	}
	fmt.Fprintf(o.Stderr, "art: %s %s\n", cli.Printable(database), cli.Printable(what))
	if cli.Confirm(o.Stderr, o.Answer, "art: remove it?") {
		return nil
	}
	return errors.New("nothing was removed")
}

// Named returns the database that somebody means by a name that List shows, the base name of its workspace, the path of
// that, or its own; and with it the workspace, if that was named. A fork has names of its own: that which List shows, and that
// which it was given as a fork of the current database, if there is one.
func Named(databases, current, what string) (dir, database string, err error) {
	found := map[string]string{}
	if current != "" && !strings.ContainsRune(what, '/') {
		if fork, err := workspace.FindFork(current, what); err == nil {
			found[fork] = ""
		}
	}
	if w, err := workspace.At(databases, what); err == nil && w.Known {
		found[w.Database] = w.Dir
	}
	if info, err := os.Lstat(what); err == nil && info.Mode().IsRegular() && (filepath.Dir(workspace.Absolute(what)) == databases || isDatabase(what)) {
		found[workspace.Absolute(what)] = ""
	}
	files, err := os.ReadDir(databases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("list the databases: %w", err)
	}
	for _, f := range files {
		base, ok := workspace.BaseName(f.Name())
		path := filepath.Join(databases, f.Name())
		if !ok || !f.Type().IsRegular() {
			continue
		}
		if what+".db" == f.Name() || (what == base || workspace.Absolute(what) == workspaceOf(path)) && !isFork(path) {
			if _, ok := found[path]; !ok {
				found[path] = ""
			}
		}
	}
	switch names := slices.Sorted(maps.Keys(found)); len(names) {
	case 0:
		return "", "", cli.WithHint(fmt.Errorf("find the database of %q: there is none", what), "`art list` shows all")
	case 1:
		return found[names[0]], names[0], nil
	default:
		return "", "", cli.WithHint(fmt.Errorf("find the database of %q: that may be %s", what, strings.Join(names, " or ")), "give its whole path, or the name that `art list` shows")
	}
}

// isDatabase tells whether a file is a database of art's, by the application id in its header
// (https://www.sqlite.org/fileformat.html, section 1.3).
func isDatabase(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var header [72]byte
	_, err = io.ReadFull(f, header[:])
	return err == nil && strings.HasPrefix(string(header[:]), "SQLite format 3\x00") && binary.BigEndian.Uint32(header[68:]) == sqlvfs.ApplicationID
}
