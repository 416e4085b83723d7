// Package sandbox runs a session: it prepares the namespace stage, starts
// art-fuse and the stage, carries the streams and the signals, and returns the
// payload's exit code.
//
//	view     what the guest sees, as arguments of bubblewrap
//	stage    what runs with privilege in the session's own namespace
//	stub     the first program in the guest
//	join     another program that comes into the guest later
//	scope    what Landlock keeps the guest from
package sandbox

import (
	"time"

	"github.com/riverlytech/art/internal/terminal"
)

// Options are what the user asks for.
type Options struct {
	// Workspace is the host directory that is the workspace.
	Workspace string
	// DefaultWorkspace says that nobody named it, so that the user's settings may.
	DefaultWorkspace bool
	// Mode is Direct or Overlay; "" leaves it to Database, and to the settings if there is none.
	Mode string
	// Name is what the workspace is called in the guest; "" is as on the host.
	Name string
	// Adopt says that the workspace may have been another directory until now.
	Adopt bool
	// Home is the name of the home that the guest has; "" leaves it to the settings, and with NoHome there is none: it is in
	// the database, or gone afterwards.
	Home   string
	NoHome bool
	// Database is the path of the database. Without one, Overlay takes that which is kept for the workspace.
	Database string
	// Interactive asks for a terminal in the guest if standard input is one.
	Interactive bool
	// Network is host, none, or names between commas; "" leaves it to the settings.
	Network string
	// Publish are ports, as config.ParsePort reads them.
	Publish []string
	// Learn has the guest reach all that is public, with a network by name.
	Learn bool
	// Path is home or host; "" leaves it to the settings.
	Path string
	// Env are variables for the guest, NAME or NAME=VALUE.
	Env []string
	// Agent is the name of the agent of the user's own whose session this is, or "".
	Agent string
	// Preset is the name of the preset of the session's program, or "".
	Preset string
	// See are host paths to show at their own places.
	See []string
	// Hide are host paths to hide.
	Hide []string
	// Allow are system calls to allow (package seccomp, Options).
	Allow []string
	// End is what becomes of what the command leaves running: kill, wait or ask; "" leaves it to the settings.
	End string
	// Time is how long the session may run; 0 leaves it to the settings.
	Time time.Duration
	// Notify is "true" or "false", whether to notify the user; "" leaves it to the settings.
	Notify string
	// Replicate is the URL of the place that the database is copied to, or "none"; "" leaves it to the settings.
	Replicate string
	// Flatten is "true" or "false", whether to make a database that is replicated self-contained first; "" leaves it to the settings.
	Flatten string
	// TakeOver says to take the place over from another session.
	TakeOver bool
	// Commands is "true" or "false", whether to learn which command changes what; "" leaves it to the settings.
	Commands string
	// Systemd is "true" or "false", whether a session in the background is a unit of systemd; "" leaves it to the settings.
	Systemd string
	// Quiet leaves the banner and the closing words out.
	Quiet bool
	// Events is where what happens is told ([events.Open]); "" is nowhere.
	Events string
	// Trace, if set, asks for a trace of the payload's system calls.
	Trace *Trace
	// Background leaves the session to itself once its command runs: this process is that of the session (StartBackground).
	Background bool
	// DetachKeys are the keys that leave a session which is Attended: this process is that of the session, and was started by
	// RunForeground.
	DetachKeys *terminal.Keys
	Attended   bool
	// Command and its arguments; none is a shell.
	Command []string
}

// Trace says what to trace and where to.
type Trace struct {
	// Log is a file; "" is standard error.
	Log string
	// Syscalls are comma-separated; "" is all of them.
	Syscalls string
	// Format is text or json.
	Format string
}
