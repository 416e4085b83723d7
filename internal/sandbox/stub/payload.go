// Package stub is the first program in the guest: art executed again by
// bubblewrap. It gives the payload its terminal, its streams and its session,
// tells art who it is, and becomes the payload.
//
// bubblewrap could exec the payload itself, but reports a command that it cannot
// find as exit code 1, and starts nothing as the leader of a session.
package stub

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/sandbox/wire"
)

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
	// Sockets are the guest's paths beneath which it may connect to sockets that the host has made.
	Sockets []string
	// Mounts says that it may mount, in a namespace of its own.
	Mounts bool
	// Terminal says which of the standard streams (0, 1, 2) are the terminal of
	// the session. If none is, there is no terminal.
	Terminal [3]bool
	// Filter, if set, is the marshalled seccomp filter (package filter) to load.
	Filter string
	// Telling, if set, is the marshalled seccomp filter that asks art about calls (seccomp.Telling).
	Telling string
	// Memory, if not 0, limits what each process writes to and does not share, in bytes (RLIMIT_DATA).
	Memory uint64
}

// Marshal returns the payload as bytes.
func (p *Payload) Marshal() []byte {
	terminal := make([]string, 3)
	for i, is := range p.Terminal {
		if is {
			terminal[i] = "tty"
		}
	}
	// In hexadecimal, since they hold NULs.
	filter := []string{hex.EncodeToString([]byte(p.Filter)), hex.EncodeToString([]byte(p.Telling))}
	return wire.Marshal(p.Command, p.Shells, p.Env, terminal, filter, []string{p.Workspace, p.Start, strconv.FormatBool(p.Mounts), strconv.FormatUint(p.Memory, 10)}, p.Sockets)
}

func unmarshal(data []byte) (*Payload, error) {
	var p Payload
	var terminal, filter, single []string
	if err := wire.Unmarshal(data, &p.Command, &p.Shells, &p.Env, &terminal, &filter, &single, &p.Sockets); err != nil {
		return nil, err
	}
	program, err := hex.DecodeString(filter[0])
	if err != nil {
		return nil, err
	}
	telling, err := hex.DecodeString(filter[1])
	if err != nil {
		return nil, err
	}
	p.Telling = string(telling)
	p.Filter, p.Workspace, p.Start, p.Mounts = string(program), single[0], single[1], single[2] == "true"
	if p.Memory, err = strconv.ParseUint(single[3], 10, 64); err != nil {
		return nil, err
	}
	for i := range p.Terminal {
		p.Terminal[i] = terminal[i] == "tty"
	}
	return &p, nil
}

// path returns the directories of PATH in the payload's environment.
func (p *Payload) path() []string {
	for _, kv := range p.Env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			return strings.Split(value, ":")
		}
	}
	return nil
}
