// Package paths compares paths, and follows symbolic links.
package paths

import (
	"path/filepath"
	"slices"
	"strings"
)

// Within says whether path is dir or lies in it; both are clean and absolute.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// WithinAny says whether path is Within one of dirs.
func WithinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Within(path, dir) })
}

// Resolve returns path with the symbolic links of its existing part resolved.
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
