package view

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Within says whether path is dir or lies in it; both are clean and absolute.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func withinAny(path string, dirs []string) bool {
	for _, dir := range dirs {
		if Within(path, dir) {
			return true
		}
	}
	return false
}

// Resolve returns path with the symbolic links of its existing part resolved.
// The guest has the host's links, and bwrap does not mount through one that is
// absolute: while it builds the view, such a link leads elsewhere.
func Resolve(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if path == "/" || path == "." {
		return path
	}
	return filepath.Join(Resolve(filepath.Dir(path)), filepath.Base(path))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// shadows returns the host directories, parents first, in which the view needs
// an entry that the host does not have. own are the directories that are the
// guest's own anyway.
func shadows(places, own []string) []string {
	set := map[string]bool{}
	for _, place := range places {
		if exists(place) || withinAny(filepath.Dir(place), own) {
			continue
		}
		dir := filepath.Dir(place)
		for !isDir(dir) {
			dir = filepath.Dir(dir)
		}
		set[dir] = true
	}
	var dirs []string
	for dir := range set {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	return dirs
}
