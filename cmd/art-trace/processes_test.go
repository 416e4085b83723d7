package main

import (
	"regexp"
	"slices"
	"strings"
)

// What differs between two builds: names, and by a few bytes the sizes of what is
// compressed.
var temporary = regexp.MustCompile(`"/tmp/go-build[^"]*"\.\.\.|go-build\d+|/go-build/[0-9a-f/]*-[ad]|"(-buildid=)?[\w/-]{23,32}"\.\.\.|\b\d+-tmp-\w+|st_size=\d+`)

// processes returns, for a program that moves its work between its threads, what
// was done by all of them together, sorted: one list of lines.
func processes(log string) [][]string {
	var all []string
	for _, thread := range threads(log) {
		for _, line := range thread {
			// How many threads there are, and which of them is interrupted by the
			// Go runtime, is up to the scheduler.
			if strings.HasPrefix(line, "+++ exited") || strings.HasPrefix(line, "--- SIGURG") {
				continue
			}
			all = append(all, temporary.ReplaceAllString(line, "TEMPORARY"))
		}
	}
	slices.Sort(all)
	return [][]string{all}
}
