package control

import "time"

// CommitsFD is the socket over which art-fuse tells art what it has committed, where Serve.Commits says that art wants to hear it. What
// finds no room in it is not told, but counted.
const CommitsFD = RingFD + 1

// Commit is one message of it.
type Commit struct {
	Files       []CommittedFile
	Checkpoints []CommittedCheckpoint
	Lost        uint64 // changes that were not told before these
}

// CommittedFile is what a command has done to a file, or to a name of one, since the commit before.
type CommittedFile struct {
	Layer   int // the mount in which Path is: 0 is the home's, and i+1 that of Serve.Layers[i]
	Path    string
	What    uint32 // of the kinds below
	Command int64  // its number (Command.Number); 0: unknown
	At      time.Time
}

// Kinds of changes.
const (
	FileMade uint32 = 1 << iota
	FileWritten
	FileAttributes
	FileNamed
	FileRemoved
	FileByMapping // with FileWritten: by pages of memory, so the command is likely, not certain
)

// CommittedCheckpoint is a checkpoint that was made, or that has got another label or kind.
type CommittedCheckpoint struct {
	Number      int64
	Kind, Label string
	Made        time.Time
}

// MaxCommit bounds a message, in bytes.
const MaxCommit = 64 << 10
