package main

import (
	"regexp"
	"slices"
	"strings"
)

var temporary = regexp.MustCompile(`go-build\d+|/go-build/[0-9a-f/]*-[ad]|"(-buildid=)?[\w/-]{23,32}"\.\.\.|\b\d+-tmp-\w+`)

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
