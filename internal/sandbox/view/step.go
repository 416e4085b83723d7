package view

import "fmt"

// Action is what a [Step] does.
type Action int

const (
	// Shadow covers the directory Target with one of the guest's own that has the same
	// entries, each bound, so that more of them can be made.
	Shadow Action = iota
	// Tmpfs covers Target with an empty file system; Mode is its root's. With Write the guest may fill it,
	// and shares the room with all others of these.
	Tmpfs
	// Bind shows Source at Target, for reading, or with Write also for writing.
	Bind
	// Same shows at Target what the guest has at Source by then, if that is a directory. Where the guest
	// cannot pass on the way there, or sees nothing, the way is made of empty directories.
	Same
	// Way is Bind at the end of a way that is made as for Same.
	Way
	// Symlink makes Target a symbolic link whose text is Source.
	Symlink
	// Listen makes a socket at Target, at which art-fuse or the guest's agent of SSH listens.
	Listen
	// Proc shows the processes of the process namespace that the guest is going to share at Target.
	Proc
	// Devices fills the directory Target with what programs expect of /dev.
	Devices
	// Seal takes from everyone the right to write the directory Target itself, which
	// had to be writable for entries to be made.
	Seal
)

// Step is one change of the mounts. Target is absolute and clean; outside the guest's
// home, it leads through no symbolic link.
type Step struct {
	Do             Action
	Target, Source string
	// Keep, of a Bind, is a directory in Target that shows there what From did before.
	Keep  string
	From  string
	Mode  uint32
	Write bool
}

// String is for tests and errors.
func (s Step) String() string {
	switch s.Do {
	case Shadow:
		return "shadow " + s.Target
	case Tmpfs:
		return fmt.Sprintf("tmpfs %s %04o", s.Target, s.Mode)
	case Bind, Way:
		if s.Keep != "" && s.From != s.Keep {
			return fmt.Sprintf("bind %s %s around %s from %s", s.Source, s.Target, s.Keep, s.From)
		}
		if s.Keep != "" {
			return fmt.Sprintf("bind %s %s around %s", s.Source, s.Target, s.Keep)
		}
		if s.Write {
			return fmt.Sprintf("bind %s %s", s.Source, s.Target)
		}
		return fmt.Sprintf("ro-bind %s %s", s.Source, s.Target)
	case Same:
		return fmt.Sprintf("same %s %s", s.Source, s.Target)
	case Symlink:
		return fmt.Sprintf("symlink %s %s", s.Source, s.Target)
	case Listen:
		return "listen " + s.Target
	case Proc:
		return "proc " + s.Target
	case Devices:
		return "devices " + s.Target
	default:
		return "seal " + s.Target
	}
}
