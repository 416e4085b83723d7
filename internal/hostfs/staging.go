package hostfs

import "strings"

// StagingPrefix begins the names of directories in which a pull gathers what it is about to put in place.
const StagingPrefix = ".art-pull-"

// IsStaging tells whether a name is that of such a directory.
func IsStaging(name string) bool { return strings.HasPrefix(name, StagingPrefix) }
