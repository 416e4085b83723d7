// Package workspace finds the databases that art keeps for workspaces, so that none has to be named. Each lies in
// one directory of the user's, under a name that the path of its workspace gives; nothing else has to be read to
// find it.
package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
)

const (
	suffix = ".db"
	// maxName keeps a database's name, and those of the files that SQLite makes beside it, below the 255 bytes
	// that file systems take (NAME_MAX in limits.h).
	maxName = 200
)

// Workspace is one with the database that is kept for it.
type Workspace struct {
	// Dir is its absolute path without symbolic links.
	Dir string
	// Database is the path of its database, whether that is there or not.
	Database string
	// Known says that it is there.
	Known bool
	// Sub is the directory that was asked for, relative to Dir.
	Sub string
}

// Directory returns the directory of the databases: what the user's settings name, or else the one of art's state.
func Directory(user *config.Settings) (string, error) {
	dir := config.DatabaseDir(os.Getenv, user)
	if dir == "" {
		return "", cli.WithHint(errors.New("find the databases of workspaces: neither XDG_STATE_HOME nor HOME is set"),
			"set HOME, or name a database with --db DB")
	}
	return dir, nil
}

// Make makes the directory of the databases if there is none.
func Make(databases string) error {
	if err := os.MkdirAll(databases, 0o700); err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = fmt.Errorf("%s: %w", path.Path, path.Err)
		}
		return cli.WithHint(fmt.Errorf("make a directory for databases: %w", err), writableHint)
	}
	return nil
}

const writableHint = `name a directory that you can write to with "db" in your sandbox.json, or a database with --db DB`

// At returns the workspace that the directory dir is.
func At(databases, dir string) (Workspace, error) {
	real, err := resolve(dir)
	if err != nil {
		return Workspace{}, err
	}
	return at(databases, real), nil
}

// Nearest returns the workspace that the directory dir lies in, among those that have a database here: the innermost
// one. If there is none, it is dir itself. The user's home, and what it lies in, is nobody's workspace but its own: whoever
// made it one has not meant all projects there.
func Nearest(databases, dir string) (Workspace, error) {
	real, err := resolve(dir)
	if err != nil {
		return Workspace{}, err
	}
	for up := real; up != "/"; up = filepath.Dir(up) {
		if w := at(databases, up); w.Known && (up == real || !HoldsHome(up)) {
			w.Sub, _ = filepath.Rel(up, real) // both are absolute
			return w, nil
		}
	}
	return at(databases, real), nil
}

// HoldsHome says whether the user's home is the directory dir, an absolute path without symbolic links, or lies in it.
func HoldsHome(dir string) bool {
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err != nil || !filepath.IsAbs(home) {
		return false
	}
	in, err := filepath.Rel(dir, home)
	return err == nil && in != ".." && !strings.HasPrefix(in, "../")
}

func at(databases, dir string) Workspace {
	path := filepath.Join(databases, fileName(dir))
	info, err := os.Lstat(path)
	return Workspace{Dir: dir, Database: path, Known: err == nil && info.Mode().IsRegular(), Sub: "."}
}

// fileName returns the name of the database of the workspace dir, an absolute path.
func fileName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	base := filepath.Base(dir)
	return base[:min(len(base), maxName)] + "-" + hex.EncodeToString(sum[:4]) + suffix
}

// IsOf tells whether the name of a database is that of the workspace dir.
func IsOf(name, dir string) bool { return filepath.IsAbs(dir) && name == fileName(dir) }

// BaseName returns the base name of the workspace that the database in the file name is for, as far as the name
// tells, and whether it is such a name at all.
func BaseName(name string) (base string, ok bool) {
	rest, ok := strings.CutSuffix(name, suffix)
	for at := strings.LastIndex(rest, forkMark); at > 0 && validFork(rest[at+1:]); at = strings.LastIndex(rest, forkMark) {
		if _, err := hex.DecodeString(rest[max(0, len(rest)-8):]); err == nil && len(rest) > 9 && rest[len(rest)-9] == '-' {
			break // no fork: its workspace has a name with the mark
		}
		rest = rest[:at]
	}
	i := len(rest) - 9
	if !ok || i < 1 || rest[i] != '-' {
		return "", false
	}
	if _, err := hex.DecodeString(rest[i+1:]); err != nil {
		return "", false
	}
	return rest[:i], true
}

// resolve returns the absolute path of a directory without symbolic links: however it is spelled, it is one
// workspace.
func resolve(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err == nil { // a relative path was joined to $PWD, which may lead through links
		real, err = filepath.EvalSymlinks(real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.WithHint(fmt.Errorf("open the workspace: %s does not exist", dir), "make it with mkdir, or name another with --mount DIR")
	case err != nil:
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	return real, nil
}
