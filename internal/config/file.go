package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// readTrusted returns the text of the file path in the workspace whose root
// directory is open as root, and nil if there is none. The configuration is
// trusted, so neither the file nor a directory on the way to it may be a symbolic
// link: one could lead to a place that a guest writes to.
func readTrusted(root *os.File, path string) ([]byte, error) {
	fd, err := unix.Openat2(int(root.Fd()), path, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	name := filepath.Join(root.Name(), path)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("read %s: a symbolic link is on the way to it, which is not followed", name)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return readBounded(f)
}

// readBounded returns the whole of a regular file; it is never nil without an error.
func readBounded(f *os.File) ([]byte, error) {
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is no regular file", f.Name())
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
