// Package posix holds the overlay to what a local file system does.
//
// Its test tells thousands of short stories twice, in a directory of the host and on a mounted
// overlay, and compares all there is to see: what every system call returned, and afterwards every
// object's type, mode, owner, link count, size, content, identity, and which of its times moved.
// The stories cover the areas of the public POSIX suites: each operation on each type of object,
// on hard-to-resolve paths, by callers of all kinds, with all modes.
//
//	story_test.go        what a story is, and who appears in it
//	agent_test.go        the processes that act it out
//	call_test.go         the system calls they know
//	portrait_test.go     what is looked at afterwards
//	posix_test.go        the comparison, over deltas and bases
//	deviations_test.go   the differences that are known, by the names in DEVIATIONS.md
//	scale_test.go        large directories, deep trees, large files, and what they cost in rows
//
// The other files are the stories, by area.
package posix
