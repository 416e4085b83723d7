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

// resolveOutside is Resolve, but for links that lie in one of the directories dirs: what the host has there, the guest
// does not see.
func resolveOutside(path string, dirs []string) string {
	const most = 40 // as many links as the kernel follows (path_resolution(7))
	at, rest := "/", filepath.Clean(path)
	for links := 0; rest != "" && rest != "/"; {
		if withinAny(at, dirs) {
			return filepath.Join(at, rest)
		}
		name, after, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil || links == most {
			at, rest = next, after
			continue
		}
		links++
		if filepath.IsAbs(target) {
			at = "/"
		}
		// Where a target goes back up, at is a path without links: ".." of it is what the kernel finds.
		rest = target + "/" + after
	}
	return at
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
