package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// File is a file of settings, as it was read.
type File struct {
	Path     string // within the workspace
	Text     []byte
	Mode     os.FileMode // its permissions
	Modified time.Time
}

// readTrusted returns the text of the file path in the workspace whose root
// directory is open as root, and nil if there is none. The configuration is
// trusted, so neither the file nor a directory on the way to it may be a symbolic
// link: one could lead to a place that a guest writes to.
func readTrusted(root *os.File, path string) ([]byte, error) {
	f, err := openTrusted(root, path)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

// readSettings is readTrusted for a file that guests may see.
func readSettings(root *os.File, path string) (*File, error) {
	f, err := openTrusted(root, path)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readBounded(f)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return &File{path, text, info.Mode().Perm(), info.ModTime()}, nil
}

func openTrusted(root *os.File, path string) (*os.File, error) {
	fd, err := hostfs.OpenAt(int(root.Fd()), path, unix.O_RDONLY|unix.O_NONBLOCK, hostfs.Beneath)
	name := filepath.Join(root.Name(), path)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("read %s: a symbolic link is on the way to it, which is not followed", name)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// readBounded returns the whole of a regular file; it is never nil without an error.
func readBounded(f *os.File) ([]byte, error) {
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file", f.Name())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("read %s: it is larger than %d bytes", f.Name(), maxFile)
	}
	return text, nil
}
