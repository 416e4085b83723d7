// Package stub is the first program in the guest: art executed again by
// bubblewrap. It gives the payload its terminal, its streams and its session,
// tells art who it is, and becomes the payload.
//
// bubblewrap could exec the payload itself, but reports a command that it cannot
// find as exit code 1, and starts nothing as the leader of a session.
package stub

import "strings"

// Payload is what the stub is to run.
type Payload struct {
	// Command and its arguments; if empty, the first of Shells that can be run.
	Command []string
	Shells  []string
	// Env is its whole environment.
	Env []string
	// Workspace is the directory to start in, if bubblewrap has left that to the stub.
	Workspace string
	// Start is where to go from there, if that is to be another path of the workspace.
	Start string
	// Dir is where to go in the end, from there if it is relative, if somebody has asked for that.
	Dir string
	// Joined says that the guest is there already, and this process not in its process namespace (package join).
	Joined bool
	// Ruleset says, of one that has joined, that it gets one of art's (stage.ControlFD).
	Ruleset bool
	// Sockets are the guest's paths beneath which it may connect to sockets that the host has made.
	Sockets []string
	// Mounts says that it may mount, in a namespace of its own.
	Mounts bool
	// Terminal says which of the standard streams (0, 1, 2) are the terminal of
	// the session. If none is, there is no terminal.
	Terminal [3]bool
	// Background says that it begins in the background of the terminal, as art does in that of the caller's.
	Background bool
	// Filter, if set, is the marshalled filter of a trace to load (seccomp.Trace).
	Filter []byte
	// Notify, if set, is the marshalled filter that asks art about calls (seccomp.Notify), and Refuse the one in its place where
	// nobody can be asked.
	Notify, Refuse []byte
	// Memory, if not 0, limits what each process writes to and does not share, in bytes (RLIMIT_DATA).
	Memory uint64
}

// Path returns the directories of PATH in the payload's environment.
func (p *Payload) Path() []string {
	for _, kv := range p.Env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			return strings.Split(value, ":")
		}
	}
	return nil
}
