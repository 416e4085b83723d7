package held

import (
	"path"
	"slices"
	"strings"
)

// readNames are the files whose content decides.
var readNames = []string{"package.json", "composer.json", ".gitattributes", ".tool-versions"}

// Reads reports whether [Content] wants to see a file.
func Reads(rel string) bool {
	switch name := path.Base(fold(rel)); name {
	case "package.json":
		return !inVendored(rel)
	case "composer.json": // those of packages are not run
		return !slices.Contains(strings.Split(path.Dir(fold(rel)), "/"), "vendor")
	default:
		return slices.Contains(readNames, name)
	}
}

// Limit is how much of a file Content needs to see, in bytes.
const Limit = 1 << 20

// Content says why a file is held back whose name alone does not tell, or nothing. before is what
// the host has. A file that cannot be read as its program reads it is held back.
func Content(rel string, before, after []byte) string {
	if !Reads(rel) {
		return ""
	}
	large := len(after) >= Limit || len(before) >= Limit
	switch path.Base(fold(rel)) {
	case "package.json":
		if large || !npm.samePackage(before, after) {
			return "a package manager runs its scripts when it installs"
		}
	case "composer.json":
		if large || !composer.samePackage(before, after) {
			return "a package manager runs its scripts when it installs"
		}
	case ".gitattributes":
		if large || newDrivers(before, after) {
			return "it tells git which filters to run"
		}
	case ".tool-versions":
		if large || toolPaths(before) != toolPaths(after) {
			return "it names the programs that commands stand for"
		}
	}
	return ""
}

// toolPaths returns the lines of a .tool-versions that name a directory to take a tool from
// (https://asdf-vm.com/manage/configuration.html, `path:`). The others name versions.
func toolPaths(data []byte) string {
	var found strings.Builder
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "path:") || strings.Contains(line, "ref:") {
			found.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return found.String()
}
