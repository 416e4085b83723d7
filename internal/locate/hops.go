package locate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// maxLinks is how many links the kernel follows (path_resolution(7)).
const maxLinks = 40

// Link is a symbolic link.
type Link struct {
	Path string // without links on the way to it
	Text string // what it says
}

// Hops returns the links that lead from path to where it is, and that.
func Hops(path string) (links []Link, real string, err error) {
	at, rest := "/", strings.Split(filepath.Clean(path), "/")
	for len(rest) > 0 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		text, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if len(links) == maxLinks {
			return nil, "", &os.PathError{Op: "follow", Path: path, Err: unix.ELOOP}
		}
		links = append(links, Link{next, text})
		if filepath.IsAbs(text) {
			at = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	if _, err := os.Lstat(at); err != nil {
		if len(links) > 0 {
			return links, at, fmt.Errorf("%s leads to %s: %w", path, at, hostfs.Unwrap(err))
		}
		return nil, at, fmt.Errorf("%s: %w", path, hostfs.Unwrap(err))
	}
	return links, at, nil
}

// resolved is path without links, or as it is if it leads nowhere.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
