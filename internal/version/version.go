// Package version holds the one version that art and its helpers share.
package version

// Version names the build, as internal/packaging/version prints it. The linker sets
// it; a build without that is "devel".
var Version = "devel"
