// Package exercise holds what the exercisers of a mounted file system share: fsx, which compares
// the content of files with a shadow copy, and stress, which has many processes change one tree.
// Both are commands that leave in the directory what they expect to be there, so that the next run,
// which may be on the other side of a remount, proves it before it goes on.
//
// Beside them are two that run whole sessions: kill, which ends them at the worst of moments and
// looks for what was promised, and soak, which has them work for a long time and looks for what grows.
package exercise

import (
	"fmt"
	"strings"
)

// kept is how many operations a journal tells of: enough to see what led to a failure.
const kept = 40

// Journal remembers the last operations.
type Journal struct {
	last [kept]string
	n    int // operations so far; the newest is last[(n-1)%kept]
}

// Note adds an operation.
func (j *Journal) Note(format string, args ...any) {
	j.last[j.n%kept] = fmt.Sprintf(format, args...)
	j.n++
}

// Len is how many operations were noted.
func (j *Journal) Len() int { return j.n }

// String lists what is remembered, the oldest first, with the number of each operation.
func (j *Journal) String() string {
	var s strings.Builder
	for i := max(0, j.n-kept); i < j.n; i++ {
		fmt.Fprintf(&s, "%8d %s\n", i+1, j.last[i%kept])
	}
	return s.String()
}
