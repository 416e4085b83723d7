package private

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxInside is how many entries of a directory are looked at.
const maxInside = 10000

// ofProjects are names that repositories have too, with nothing private in them.
var ofProjects = []string{".npmrc", ".yarnrc.yml", ".docker", ".history"}

// Inside returns what in a directory of the host, as if that were a home, is private, or "". A copy of a home, or of its dot
// files, is not known to be one.
func Inside(dir string) string {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	entries, _ := f.Readdirnames(maxInside)
	for _, entry := range entries {
		if !strings.HasPrefix(entry, ".") || slices.Contains(ofProjects, entry) {
			continue
		}
		for _, name := range names {
			if first, _, _ := strings.Cut(name, "/"); first != entry {
				continue
			}
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); err == nil {
				return path
			}
		}
	}
	return ""
}
