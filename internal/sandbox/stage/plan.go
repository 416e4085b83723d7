// Package stage is the namespace stage: art executed again in a user and mount
// namespace of its own, where it prepares what bubblewrap then puts together.
//
// It holds CAP_SYS_ADMIN over that namespace and over nothing else. Its mounts
// are seen by nobody but the sandbox and end with it, whichever way it ends.
package stage

import (
	"path/filepath"
	"strconv"

	"github.com/riverlytech/art/internal/sandbox/wire"
)

// Name as the zeroth argument makes art the stage.
const Name = "art-stage"

// Descriptors the stage is started with. It passes Link and those after it, but
// Control, on to bubblewrap and through it to the guest's stub.
const (
	PlanFD    = 3 + iota // the Plan, in memory
	ControlFD            // the socket to art-fuse; /dev/null without FUSE
	LinkFD               // the socket to art: first the stage's, then the stub's
	ArgsFD               // the arguments of bubblewrap, in memory
	StatusFD             // bubblewrap's reports
	SelfFD               // art's executable, for bubblewrap to exec as the stub
	PayloadFD            // what the stub is to run, in memory
	FilterFD             // the filter of system calls, in memory, for bubblewrap
	StreamFD             // standard input, output and error of the payload; /dev/null for the PTY
	ExtraFD   = StreamFD + 3
)

// How the guest's home gets its file system.
const (
	// NoFUSE is direct mode.
	NoFUSE = ""
	// MountFUSE lets the stage mount it. Any other value is the path where it
	// is mounted already, and which is to be taken over.
	MountFUSE = "mount"
)

// Plan is what the stage is to prepare.
type Plan struct {
	// Staging is the directory that the stage mounts its own tmpfs over.
	Staging string
	// FUSE is NoFUSE, MountFUSE or a path.
	FUSE string
	// Workspace is the absolute path of the workspace on the host.
	Workspace string
	// Database is the absolute path of the database, or "".
	Database string
	// Sources are the host paths to be bound somewhere, to be had at Source(i);
	// a relative one lies beneath the workspace.
	Sources []string
	// Hide are the absolute host paths to cover. One that does not exist is fine.
	Hide []string
	// HideHome are the paths to cover in the FUSE mount, relative to it.
	HideHome []string
	// Passwd and Group are the text of these files.
	Passwd, Group string
	// Command is the program to end as, and its arguments.
	Command []string
}

// Marshal returns the plan as bytes.
func (p *Plan) Marshal() []byte {
	single := []string{p.Staging, p.FUSE, p.Workspace, p.Database, p.Passwd, p.Group}
	return wire.Marshal(single, p.Sources, p.Hide, p.HideHome, p.Command)
}

func unmarshal(data []byte) (*Plan, error) {
	var p Plan
	var single []string
	if err := wire.Unmarshal(data, &single, &p.Sources, &p.Hide, &p.HideHome, &p.Command); err != nil {
		return nil, err
	}
	for i, field := range []*string{&p.Staging, &p.FUSE, &p.Workspace, &p.Database, &p.Passwd, &p.Group} {
		*field = single[i]
	}
	return &p, nil
}

// Source returns the path in the stage's namespace of the i-th source.
func (p *Plan) Source(i int) string { return p.staged("source-" + strconv.Itoa(i)) }

// Home returns the path in the stage's namespace of the FUSE mount.
func (p *Plan) Home() string { return p.staged("home") }

// PasswdPath returns the path in the stage's namespace of the guest's passwd(5).
func (p *Plan) PasswdPath() string { return p.staged("passwd") }

// GroupPath returns the path in the stage's namespace of the guest's group(5).
func (p *Plan) GroupPath() string { return p.staged("group") }

func (p *Plan) staged(name string) string { return filepath.Join(p.Staging, name) }
