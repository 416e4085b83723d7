package sync

import "strings"

// stagingPrefix begins the name of the directory, at the top of the workspace, in which a pull
// gathers what it is about to put in place.
const stagingPrefix = ".art-pull-"

// isStaging tells whether a path below the workspace is such a directory.
func isStaging(rel string) bool {
	return strings.HasPrefix(rel, stagingPrefix) && !strings.Contains(rel, "/")
}
