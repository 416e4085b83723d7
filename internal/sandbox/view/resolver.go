package view

import (
	"os"
	"path/filepath"

	"github.com/riverlytech/art/internal/paths"
)

// The files that names are found by.
const (
	resolvConf = "/etc/resolv.conf"
	hosts      = "/etc/hosts"
	knownHosts = "/etc/ssh/ssh_known_hosts"
)

// maxLinks is the kernel's own limit of symbolic links in a path
// (path_resolution(7)).
const maxLinks = 40

// bringBack shows again what path leads to within the hidden directories, and the
// links on the way: with systemd-resolved and NetworkManager, /etc/resolv.conf is
// a link into /run.
func bringBack(path string, hidden []string) []Step {
	steps, end := follow(path, hidden)
	if paths.WithinAny(end, hidden) && exists(end) {
		steps = append(steps, Step{Do: Bind, Source: end, Target: end})
	}
	return steps
}

// follow returns where path leads to, which need not be there, and steps that show the links on the way within the hidden
// directories.
func follow(path string, hidden []string) (steps []Step, end string) {
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if paths.WithinAny(path, hidden) {
			steps = append(steps, Step{Do: Symlink, Source: target, Target: path})
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		// A link among the directories, such as /var/run, is the host's root's.
		path = filepath.Join(paths.Resolve(filepath.Dir(target)), filepath.Base(target))
	}
	return steps, path
}
