package config

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// systemLinks are directories in which root finds the links that come with the system.
var systemLinks = []string{"/", "/usr", "/usr/local", "/var"}

// follow resolves the path of a mount of the user's. It refuses a symbolic link that a guest may have made, in
// another workspace or in a mount that it could write: the next session would mount what that leads to. Those in
// directories that the caller cannot write are the system's.
func (m *Mount) follow(path string) error {
	all := places(path)
	links, real := all[:len(all)-1], all[len(all)-1]
	for _, link := range links {
		dir := filepath.Dir(link)
		planted := unix.Access(dir, unix.W_OK) == nil
		if os.Getuid() == 0 {
			planted = !slices.Contains(systemLinks, dir)
		}
		if planted {
			return cli.WithHint(m.errorf("path %q: %s is a symbolic link, which a guest may have made", m.Host, link),
				"if what it leads to is meant, write that path: "+real)
		}
	}
	m.Host = real
	return nil
}

// lead resolves the path of a mount of a workspace's, which counts only if the user trusts what it leads to.
func (m *Mount) lead(path string) error {
	m.Host = resolved(path)
	return nil
}
