// Package attack tries to break out of a sandbox. It is what `art doctor --attack` runs,
// and the end-to-end tests with it.
//
// An attempt that fails everywhere proves nothing, so all of them are also made on
// the host, where most succeed. Each runs in a process of its own, as some end it or
// change it for good, and takes back what it has changed should it succeed.
//
//	calls.go       the kernel's calls
//	kernel.go      parts of the kernel that nobody in there needs
//	protocols.go   protocols of sockets
//	network.go     the host's network, and names
//	agent.go       the caller's agent of SSH
//	processes.go   processes of the host, and the sandbox's own first one
//	sockets.go     sockets of the host
//	secrets.go     what is there to be read
//	system.go      what is there to be written, and devices
//	inodes.go      files of the host that are reached without a name
//	roots.go       what only the host's root may do to files
//	rights.go      what a process may do
//	modes.go       programs left with the caller's rights
//	workspace.go   what a guest could leave behind for the host
//	settings.go    what the next session takes its settings and secrets from
//	home.go        what every later session begins in
//	victim.go      what is attacked, on the host
package attack

import (
	"slices"
)

// Need is what it takes for an attempt to succeed outside of a sandbox.
type Need int

const (
	// Nothing: it always succeeds there.
	Nothing Need = iota
	// Root succeeds.
	Root
	// Host means that it depends on what the host has, and on how it is set up.
	Host
)

// Mode is one of the sandbox's.
type Mode string

// The modes of a session.
const (
	Direct  Mode = "direct"
	Overlay Mode = "overlay"
)

// Network is what lets an attempt through beside the options of package seccomp: the
// host's network.
const Network = "network host"

// Attempt is one way to break out.
type Attempt struct {
	// Area is what is attacked; attempts of one area follow each other.
	Area string
	// Name says in a few words what would have been done.
	Name string
	// Needs is what it takes outside.
	Needs Need
	// Option is what a user may allow that includes it: an option of package seccomp,
	// Network, or "".
	Option string
	// Only is the mode in which it makes sense, or "" for both.
	Only Mode

	try func(*Target) error
}

// In says whether the attempt makes sense in a mode.
func (a *Attempt) In(mode Mode) bool { return a.Only == "" || a.Only == mode }

// All returns all attempts. They are functions, as a session's processes are of the same program and begin
// without them.
func All() []Attempt {
	return slices.Concat(processes(), sockets(), secrets(), system(), inodes(), roots(), rights(), calls(), foreign(), kernel(),
		protocols(), network(), agent(), workspace(), settings(), home(), modes())
}
