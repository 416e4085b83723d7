package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// writtenDir is the directory in the user's state with a file for each directory of the host that a guest could write: the
// workspace of a session of direct mode, or a mount. The file's name is the SHA-256 of the path without links, which is in it
// for people. A link in such a directory may be a guest's, and what it leads to is not what the user means to show.
const writtenDir = "written"

func writtenFile(state, path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(state, writtenDir, hex.EncodeToString(sum[:]))
}

// NoteWritten remembers that a guest is going to be able to write a directory, which has no links on the way to it.
func NoteWritten(state, dir string) error {
	if state == "" {
		return errors.New("neither XDG_STATE_HOME nor HOME is set")
	}
	file := writtenFile(state, dir)
	if _, err := os.Lstat(file); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(dir+"\n"), 0o600)
}

// Written returns the directory that a guest could write once and that a path lies in, which has no links on the way to it,
// or "".
func Written(state, path string) string {
	if state == "" {
		return ""
	}
	for at := path; at != "/" && at != "."; at = filepath.Dir(at) {
		if _, err := os.Lstat(writtenFile(state, at)); err == nil {
			return at
		}
	}
	return ""
}
