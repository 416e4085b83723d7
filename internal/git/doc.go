// Package git brings what the guest did in a repository to the host's, as one thing: pull does not copy
// the files of a git directory, it takes over what they mean.
//
// # What comes over, and how
//
// Nothing that git reads on the host was written by the guest. Objects are read on the guest's side,
// their hashes are computed anew, and they are written (closure.go, importing.go); the host's stay, whatever
// the guest has removed. References move one by one, with git's own locks, and only where the host's has
// the value that it had when it was planned (refs.go, decide.go, apply.go). The index is built from the
// guest's entries and the host's stat data (index.go). Reflogs get the lines that they lack (reflog.go).
//
// # Who moved a reference
//
// The host's has moved if its file is not the one that the guest saw, and if its reflog ends in a line
// that the guest's does not have. So what git gc(1) does to files is no change. Of what is only in packed-refs, the reflogs that are there, or not any more, tell
// who has made or deleted it. A branch has moved, too, where the guest's reflog does not go on from what the host has: then the guest saw something else there.
// Where the guest has gone back to before a pull, its reflog has too: then each has moved if it is not what the pull has left. Where only the guest's
// has moved, the host's follows; where both have, the host's follows if that is a fast-forward, and no tag, and
// else the guest's value comes under the name NAME.art. So it does where a worktree of the host uses a branch (inuse.go),
// where a reference of the host's is in the way of its name (names.go), and where the guest has committed upon it from an index of
// another branch (takesback.go). Where the guest has gone back behind the host's
// commits, both stay.
//
// HEAD, the branch that it is on and the index are one (checkout.go): all of the guest's are taken, or
// none. They stay the host's where its index holds staged work, where it is on another branch, where the branch
// has moved on both sides, where its commits are newer than what the guest's index was made from (stale.go) or went away from
// (wenton.go), and in the middle of a merge or a rebase. Then the guest's branch comes under the name
// NAME.art, and what it has staged as a commit upon it (keephead.go).
//
// # What the guest keeps
//
// Once the host has what the guest had, the guest's own goes, and it sees the host's. What could not come stays
// in the guest, with all that it refers to (obsolete.go).
// Beside a session the guest's own stays as it is, and only what both have is noted as agreed (agreed.go).
package git

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// ID is the name of an object.
type ID = plumbing.Hash

// Guest is what the guest has in a git directory, which shows the host's where the guest has changed
// nothing. Paths are relative to the directory. What is not there is fs.ErrNotExist.
type Guest interface {
	// List returns what the guest itself has in a directory.
	List(dir string) (Listing, error)
	// Open opens a regular file that the guest itself has.
	Open(path string) (File, error)
	// Same reports whether each side has at a path what it had when the guest last saw the host's, or
	// when both last agreed.
	Same(path string) (host, guest bool)
	// Changed returns when the guest changed what it has at a path itself.
	Changed(path string) time.Time
	// Since returns until when the guest saw the host's at a path that it has changed; zero: the host had nothing
	// there. known: that can be reported.
	Since(path string) (until time.Time, known bool)
	// Brought returns the SHA-256 of what a pull has left on the host at a path, if the guest has then gone back to before that; nil: it
	// has not, or that is not known.
	Brought(path string) []byte
}

// Listing is what the guest itself has in a directory.
type Listing struct {
	Own    []Entry
	Hidden []string // names of the host's that it hides
	Opaque bool     // it hides all of them
}

// Entry is one of a directory.
type Entry struct {
	Name string
	Dir  bool
}

// File is a file's content.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

var (
	errMissing = errors.New("object is missing")
	errDamaged = errors.New("it is damaged")
	errLarge   = errors.New("it is too large")
)

// Owns reports whether a path of a git directory is one that this package understands. What else is there,
// as configuration, hooks and what other programs keep, are ordinary files.
func Owns(rel string) bool {
	name, _, _ := strings.Cut(rel, "/")
	if rel == "info/refs" || rel == "info/grafts" {
		return true
	}
	switch name {
	case "objects", "refs", "logs", "worktrees", "reftable", "rebase-merge", "rebase-apply", "sequencer", "packed-refs", "index", "shallow",
		"gc.log", "gc.pid", "fsmonitor--daemon", "fsmonitor--daemon.ipc", "COMMIT_EDITMSG", "MERGE_MSG", "MERGE_MODE", "SQUASH_MSG", "AUTO_MERGE":
		return rel != "objects/info/alternates" && rel != "objects/info/http-alternates"
	}
	return name == "HEAD" || strings.HasSuffix(name, "_HEAD") || strings.HasPrefix(name, "BISECT_") || strings.HasPrefix(name, "sharedindex.") ||
		strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "index.")
}
