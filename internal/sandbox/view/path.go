package view

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/riverlytech/art/internal/paths"
)

// resolveOutside is paths.Resolve, but for links that lie in one of the directories dirs: what the host has there, the guest
// does not see.
func resolveOutside(path string, dirs []string) string {
	const most = 40 // as many links as the kernel follows (path_resolution(7))
	at, rest := "/", filepath.Clean(path)
	for links := 0; rest != "" && rest != "/"; {
		if paths.WithinAny(at, dirs) {
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
		if exists(place) || paths.WithinAny(filepath.Dir(place), own) {
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
