package control

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/riverlytech/art/internal/files"
	"github.com/riverlytech/art/internal/hold"
)

// Descriptors that art-fuse is started with, to serve.
const (
	SocketFD = 3 + iota // for messages
	ServeFD             // a pipe, in which a Serve comes once art knows it
	FilesFD             // the socket to the host's side of single files
)

// Serve is what art-fuse is to serve, beside the database, which its command line names.
type Serve struct {
	// Base is the workspace on the host, Name is what it is called in the database, and Adopt says that it may have been
	// another directory until now.
	Base, Name string
	Adopt      bool
	// Named says that the user has said the name, and Sole that the database goes with this workspace, or with a copy elsewhere:
	// see identity.Beside.
	Named, Sole bool
	// Hide are files of the workspace that the guest does not see. Of a directory at the workspace's top that holds one of
	// Show, relative to it, the guest sees nothing else.
	Hide, Show []string
	// Layers are more directories of the host, with mounts of their own that come after the first one.
	Layers []Layer
	// LayerHide are files that do not show there.
	LayerHide []string
	// Tracked is the index of git whose files are all that shows of the layer Tree.
	Tracked string
	// Kept is the size up to which a file of the host is copied whole once the guest has changed a part of it.
	Kept uint64
	// Places are mount points in the tree, and Files single files of the host's, which come over FilesFD. Both are gone at
	// the end.
	Places []files.Place
	Files  []files.File
	// Hold are the patterns of what a pull from the database is to hold back from now on.
	Hold []hold.Pattern
	// Checkpoints says when the session makes some by itself, and how many stay.
	Checkpoints Checkpoints
	// Replicated says that art-replicate copies the database elsewhere meanwhile, LeaveForks that it does not if that is a fork, Flatten to make it self-contained before, TellHost to tell what
	// of it is on the host alone, and Terminal that somebody sees how far that is.
	Replicated, LeaveForks, Flatten, TellHost, Terminal bool
	// PID and Command are what the log of sessions says of this one. At the end art writes a LoggedEnd to art-fuse's
	// standard input. No command line, which everybody can read, has the command.
	PID     int
	Command []string
	// Flows says that messages of this kind come, Commands that those of CommandsFD do, and Commits that art wants those of CommitsFD.
	Flows, Commands, Commits bool
}

// KeepWhole is Kept where the settings say nothing else.
const KeepWhole = 16 << 20

// LoggedEnd is what the log of sessions says of the end of one.
type LoggedEnd struct {
	Known bool // whether there is an exit code
	Code  int
	Why   string // what has ended the session, if that was not its command alone
}

// MaxWhy bounds Why, and MaxLoggedEnd all of it, in bytes.
const MaxWhy, MaxLoggedEnd = 512, 1 << 10

// Report is what art-fuse leaves on its standard output when a session has ended.
type Report struct {
	Broken  []string // files of the workspace that the host has broken
	Changed bool     // whether the guest has changed anything
	Dropped uint64   // checkpoints that were dropped because there was no room
}

// Dropped says that checkpoints were dropped because there was no room.
func Dropped(n uint64) string {
	if n == 1 {
		return "1 checkpoint was dropped: there was no room"
	}
	return fmt.Sprintf("%d checkpoints were dropped: there was no room", n)
}

// Checkpoints says when a session makes checkpoints by itself, and how many stay, where that is not the default.
type Checkpoints struct {
	Off               bool          // it makes none
	Every             time.Duration // 0: when it rests
	Most, Days, Bytes uint64        // 0: the default
}

// LayerKind says what a layer is.
type LayerKind uint8

const (
	// Git is a git directory outside of the workspace.
	Git LayerKind = iota
	// Tree is the working tree around the workspace.
	Tree
	// Other is any other directory, of a mount of mode overlay.
	Other
	layerKinds
)

// Layer is one more directory of the host under the database.
type Layer struct {
	Kind     LayerKind
	Dev, Ino uint64 // which directory it was when art looked
	Dir      string
}

// Check returns an error if art cannot have meant that.
func (s *Serve) Check() error {
	if s.Base == "" || s.Name == "" {
		return errors.New("there is no workspace")
	}
	for _, l := range s.Layers {
		if l.Kind >= layerKinds || !filepath.IsAbs(l.Dir) {
			return fmt.Errorf("%q is not a layer", l.Dir)
		}
	}
	paths := slices.Clone(s.Show)
	for _, p := range s.Places {
		paths = append(paths, p.Path)
	}
	for _, f := range s.Files {
		paths = append(paths, f.Path)
	}
	for _, path := range paths {
		if !filepath.IsLocal(path) || filepath.Clean(path) != path {
			return fmt.Errorf("%q is not the path of a file in the tree", path)
		}
	}
	for _, p := range s.Hold {
		if !p.Valid() {
			return fmt.Errorf("%q is not a pattern and a reason", p)
		}
	}
	return nil
}
