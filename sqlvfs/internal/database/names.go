package database

import "strings"

// NameMax is the longest name of a directory entry in bytes, as on Linux (limits.h).
const NameMax = 255

// ValidName tells whether a string can name a directory entry.
func ValidName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= NameMax && !strings.ContainsAny(name, "/\x00")
}

// ValidPath accepts a clean relative path that stays below its root.
func ValidPath(p string) bool {
	if p == "." {
		return true
	}
	for _, name := range strings.Split(p, "/") {
		if !ValidName(name) {
			return false
		}
	}
	return true
}
