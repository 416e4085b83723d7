// Package stage is the namespace stage: art executed again in a user and mount
// namespace of its own, where it makes the guest's whole tree of mounts (build.go), which
// bubblewrap then takes as it is.
//
// It holds CAP_SYS_ADMIN over that namespace and over nothing else, and rights over networks until it has made one for the guest,
// if that is to have one of its own. Its mounts
// are seen by nobody but the sandbox and end with it, whichever way it ends.
package stage

import (
	"path/filepath"
	"strconv"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/sandbox/view"
)

// Name as the zeroth argument makes art the stage.
const Name = "art-stage"

// Descriptors the stage is started with. It passes Link and those after it on to
// bubblewrap and through it to the guest's stub.
const (
	PlanFD    = 3 + iota // the Plan, in memory
	ControlFD            // the socket to art-fuse; /dev/null without FUSE
	LinkFD               // the socket to art: first the stage's, then the stub's
	StatusFD             // bubblewrap's reports
	SelfFD               // art's executable, for bubblewrap to exec as the stub
	PayloadFD            // what the stub is to run, in memory
	FilterFD             // the filter of system calls, in memory, for bubblewrap
	StreamFD             // standard input, output and error of the payload; /dev/null for the PTY
	ExtraFD   = StreamFD + 3
)

// Stub is what bubblewrap executes, and, being the zeroth argument too, what makes
// art the stub: the descriptor of art's own executable, which the guest need not
// be able to see.
var Stub = "/proc/self/fd/" + strconv.Itoa(SelfFD)

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
	// Sources are the host paths to be bound somewhere, which the view knows by these
	// names; a relative one lies beneath the workspace.
	Sources []string
	// Hide are the absolute host paths to cover. One that does not exist is fine.
	Hide []string
	// DotArt is the absolute path of the workspace's own directory of art's to cover, which need
	// not exist, and Settings are the files that the guest sees in it all the same.
	DotArt   string
	Settings []config.File
	// Layers is how many mounts of FUSE there are beside the home's.
	Layers int
	// SendHome says that art is to get the home that is in memory, to put files into it.
	SendHome bool
	// HideHome are the paths to cover in the guest's home, relative to it.
	HideHome []string
	// Memory is how much of it the guest may have, in bytes; 0 is not limited.
	Memory uint64
	// Counted says that this is kept for each process, by what it does not share.
	Counted bool
	// Drop says that the stage is to become the view's user and group, which own nothing on the host, before
	// anything of the guest's begins. Otherwise the guest has the stage's own ids there.
	Drop bool
	// Passwd and Group are the text of these files.
	Passwd, Group string
	// GitConfig is the text of that file, or "".
	GitConfig string
	// Tunnel says that the guest is to have a network of its own, whose only way out is a device that art gets.
	Tunnel bool
	// Resolver and Hosts are the text of these files, or "".
	Resolver, Hosts string
	// KnownHosts is the text of ssh_known_hosts(8), or "".
	KnownHosts string
	// Authority is the certificate of one that the guest believes beside those in the file Roots of the host's; either may be "".
	Authority, Roots string
	// View is what the guest is to see.
	View view.View
	// Command is the program to end as: bubblewrap's path, after the tracer's and its
	// arguments if there is one.
	Command []string
}

// Layer returns the path in the stage's namespace of a FUSE mount beside the home's.
func (p *Plan) Layer(i int) string { return p.staged("layer" + strconv.Itoa(i)) }

// Home returns the path in the stage's namespace of the FUSE mount.
func (p *Plan) Home() string { return p.staged("home") }

// PasswdPath returns the path in the stage's namespace of the guest's passwd(5).
func (p *Plan) PasswdPath() string { return p.staged("passwd") }

// GitConfigPath returns the path in the stage's namespace of git's settings.
func (p *Plan) GitConfigPath() string { return p.staged("gitconfig") }

// ResolverPath and HostsPath return the paths in the stage's namespace of the guest's resolv.conf(5) and hosts(5).
func (p *Plan) ResolverPath() string { return p.staged("resolv.conf") }

// HostsPath is described with ResolverPath.
func (p *Plan) HostsPath() string { return p.staged("hosts") }

// AuthorityPath and BundlePath return the paths in the stage's namespace of these certificates, alone and with those of the host.
func (p *Plan) AuthorityPath() string { return p.staged("authority.pem") }

// BundlePath is described with AuthorityPath.
func (p *Plan) BundlePath() string { return p.staged("bundle.pem") }

// KnownHostsPath returns the path in the stage's namespace of the keys of hosts.
func (p *Plan) KnownHostsPath() string { return p.staged("known_hosts") }

// GroupPath returns the path in the stage's namespace of the guest's group(5).
func (p *Plan) GroupPath() string { return p.staged("group") }

func (p *Plan) staged(name string) string { return filepath.Join(p.Staging, name) }
