package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/sqlvfs"
)

// openStore opens a database; one that is opened for writing is created if need be.
func openStore(path string, write bool) (*sqlvfs.Store, error) {
	return openWith(path, sqlvfs.Options{ReadOnly: !write, Create: write})
}

// openWith opens a database and says what to do when that fails.
func openWith(path string, opt sqlvfs.Options) (*sqlvfs.Store, error) {
	opt.Root = sqlvfs.NewRoot()
	if term.IsTerminal(int(os.Stderr.Fd())) {
		opt.Waiting = cli.Waiting(os.Stderr, prog, path)
	}
	store, err := sqlvfs.Open(path, opt)
	if err == nil {
		if other := store.OtherProgram(); other != nil {
			logf("%s: %v", path, other)
		}
		return store, nil
	}
	hint := openHint(path, err)
	if errors.Is(err, syscall.ENOSPC) {
		hint = "make room in " + filepath.Dir(path)
	}
	return nil, cli.WithHint(fmt.Errorf("open database %s: %w", path, err), hint)
}

func openHint(path string, err error) string {
	var inUse *sqlvfs.InUseError
	switch {
	case errors.As(err, &inUse):
		const orElse = ", or give another --db; art-fuse looks into a database that is in use"
		if hint := session.InUse(os.Getenv, path); hint != "" {
			return hint + orElse
		}
		if inUse.PID != 0 {
			return fmt.Sprintf("end that session (process %d)%s", inUse.PID, orElse)
		}
		return "end that session" + orElse
	case errors.Is(err, sqlvfs.ErrNoCheckpoint):
		return "art log -d " + path + " shows those there are"
	case errors.Is(err, sqlvfs.ErrForkParent):
		return "" // it says that itself
	case errors.Is(err, sqlvfs.ErrNotDatabase), errors.Is(err, sqlvfs.ErrForeign):
		return "the file was left as it is; give another --db, a new file is made if there is none"
	case errors.Is(err, sqlvfs.ErrNewer):
		return "the file was left as it is; install the version of art that made it, or a later one"
	case errors.Is(err, sqlvfs.ErrBeingRead):
		return "end what looks into it: a mount, or another tool"
	case errors.Is(err, sqlvfs.ErrCorrupt):
		return "art-fuse check " + path + " tells more, and mends with --repair"
	case errors.Is(err, sqlvfs.ErrReadOnly):
		return "make it writable: chmod u+w " + path
	case errors.Is(err, fs.ErrNotExist):
		return "is there a directory " + filepath.Dir(path) + "?"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of " + filepath.Dir(path)
	}
	return ""
}

// unfinished tells whether a workspace has what a pull that was killed had staged, so that rows may refer to
// files of the host that are replaced already.
func unfinished(s *sqlvfs.Store, workspace string) bool {
	entries, err := sqlvfs.Query(s, (*sqlvfs.Tx).Journal)
	if err != nil || len(entries) == 0 {
		return false
	}
	staging := string(entries[0])
	if filepath.Base(staging) != staging {
		return false
	}
	_, err = os.Lstat(filepath.Join(workspace, staging))
	return err == nil
}
