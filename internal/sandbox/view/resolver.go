package view

import (
	"os"
	"path/filepath"
)

// maxLinks is the kernel's own limit of symbolic links in a path
// (path_resolution(7)).
const maxLinks = 40

// resolver brings back what /etc/resolv.conf leads to within a hidden directory:
// with systemd-resolved and NetworkManager it is a link into /run.
func (b *builder) resolver(hidden []string) {
	path := "/etc/resolv.conf"
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if withinAny(path, hidden) {
			b.add("--symlink", target, path)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		// A link among the directories, such as /var/run, is the host's root's.
		path = filepath.Join(Resolve(filepath.Dir(target)), filepath.Base(target))
	}
	if withinAny(path, hidden) && exists(path) {
		b.add("--ro-bind-try", path, path)
	}
}
