// Package events tells another program what happens in a session while it happens: JSON, an object a line.
//
//	events.go  what there is to tell, and the keys of each
//	stream.go  how it is told without anybody waiting for who reads it
//	target.go  where to
//
// Each object has the keys of [Header]. A reader ignores kinds and keys that it does not know: they may come without a new version.
package events

// Version is of the form of events. It grows when a key changes its meaning or goes.
const Version = 1

// Kind says what has happened.
type Kind string

// The kinds, and what an event of each is.
const (
	SessionBegan Kind = "session.start" // Session
	SessionEnded Kind = "session.end"   // End
	Executed     Kind = "exec"          // Exec
	Exited       Kind = "exit"          // Exit
	Lost         Kind = "lost"          // Missing
	Denied       Kind = "denied"        // Denial
	FileChanged  Kind = "file.changed"  // FileChange
	Checkpointed Kind = "checkpoint"    // Checkpoint
	Conflicted   Kind = "conflict"      // Conflict
)

// Header is what all events have.
type Header struct {
	Version int    `json:"v"`
	Number  uint64 `json:"n"`       // from 1 in each session; a number that is missing was lost
	Session string `json:"session"` // 16 hexadecimal digits, of no other session
	Time    string `json:"time"`    // UTC, as RFC 3339 has it, with nanoseconds
	Kind    Kind   `json:"event"`
}

// Session is what has begun: its command runs.
type Session struct {
	PID       int      `json:"pid"` // of the session, as "art ps" has it
	Workspace string   `json:"workspace"`
	Database  *string  `json:"database"` // null in direct mode
	Command   []string `json:"command"`
}

// End is how a session has ended.
type End struct {
	Code int    `json:"exit_code"`
	Why  string `json:"why,omitempty"` // where it was not its command that has ended it
	// Copied tells whether the copy of its database elsewhere was whole; nil: there was to be none.
	Copied *bool `json:"copied,omitempty"`
}

// Exec is a process that becomes a command. Numbers of commands count from 1 in each session.
type Exec struct {
	Process  int64    `json:"process"`
	Parent   int64    `json:"parent"`             // the command that has started the process; 0: unknown
	Replaces int64    `json:"replaces,omitempty"` // the command that the process was before, and which has ended so
	PID      int      `json:"pid"`
	Command  []string `json:"command"`
	Cut      bool     `json:"cut,omitempty"` // the command is longer than that
	Dir      string   `json:"dir,omitempty"` // as the guest sees it
}

// Exit is the end of a command.
type Exit struct {
	Process int64 `json:"process"`
	PID     int   `json:"pid"`
	Code    *int  `json:"exit_code"` // 128 and the signal that has ended it; null: unknown
}

// Missing says how many events were lost before this one.
type Missing struct {
	Count uint64 `json:"count"`
}

// Denial is something that the guest was denied: a system call, where Call is set, or a name or an address on the network. It is told for the
// first time for each program.
type Denial struct {
	Call    string   `json:"call,omitempty"`
	Name    string   `json:"name,omitempty"`
	Port    int      `json:"port,omitempty"`
	Network string   `json:"protocol,omitempty"` // tcp or udp
	Why     string   `json:"why,omitempty"`
	Allow   string   `json:"allow,omitempty"` // what would permit it: of a call --allow, of a name --network
	PID     int      `json:"pid,omitempty"`
	Process int64    `json:"process,omitempty"`
	Program string   `json:"program,omitempty"` // what a process that made a call calls itself
	Command []string `json:"command,omitempty"`
}

// FileChange is what one command has done to a file, or to a name of one, since the last time that changes were committed to the database.
type FileChange struct {
	Path    string   `json:"path"` // as the guest sees it; where it is named or removed, that name
	What    []string `json:"what"` // made, written, attributes, named, removed
	Process int64    `json:"process,omitempty"`
	Mapped  bool     `json:"by_mapping,omitempty"` // it was written through a mapping: the command is likely, not certain
}

// Checkpoint is one that was made, or that has got a label or another kind.
type Checkpoint struct {
	Number int64  `json:"checkpoint"`
	Kind   string `json:"kind"` // as "art log --json" has it
	Label  string `json:"label,omitempty"`
}

// Conflict is a path that two sides have changed, and that was left alone.
type Conflict struct {
	Of   string `json:"of"` // what was to be done: pull, push or merge
	Path string `json:"path"`
	Why  string `json:"why"`
}

const timeForm = "2006-01-02T15:04:05.000000000Z"
