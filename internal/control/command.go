package control

import "time"

// CommandsFD is the socket over which art-fuse asks about the guest's commands, and is answered. RingFD is a file in memory with the ring of
// what art tells of them unasked: all that is in it at a time came before all that the socket has from then on.
const (
	CommandsFD = FilesFD + 1 + iota
	RingFD
)

// CommandKind says what is told of a command.
type CommandKind uint8

const (
	// Executed says that the process PID becomes a command. It is sent before it does.
	Executed CommandKind = iota + 1
	// Exited says that a process ends, or has ended.
	Exited
	// Mapped says that a process maps a file to write to it.
	Mapped
	// Who asks for the command of the thread PID, and Known is the answer: that of the process Parent. Known also comes without
	// having been asked for.
	Who
	Known
	// Waiting says that there are messages in the ring, some of which have waited for a while.
	Waiting
)

// Command is one message about commands. Process ids are those of the namespace that FUSE knows, of threads' leaders unless it says
// something else.
type Command struct {
	Kind CommandKind
	// PID is the process, or of Who and Known the thread. Parent is one that is known already, or 0: of Executed whose command has
	// started it, of Known and Mapped whose command it belongs to.
	PID, Parent int
	// Thread says of Known that PID is a thread of Parent's, and not a process of its own.
	Thread bool
	// Doubtful says of Executed that nobody can know before whether it fails: with the next request of PID's, it is to be asked whose that is.
	// Where it has failed, PID is said to become what it was before, once more; then, or where it has not, PID is Known of itself. Of Known and
	// Mapped it says that it is too early to know: Parent is what it was before.
	Doubtful bool
	// Argv is of Executed: each argument is ended by NUL. Cut says that there are more.
	Argv []byte
	Cut  bool
	// Dir is the working directory, as the guest sees it.
	Dir string
	// At is when it happened, of Executed and Exited.
	At time.Time
	// Code is of Exited: what a shell would call the exit code; negative if that is not known.
	Code int
	// Inode is the file, of Mapped.
	Inode uint64
	// Number is that of the command, of Executed and Exited: commands count from 1. Starter is of Executed, the number of the command that has started
	// the process, and Replaces that of the one which it was before; 0: unknown, or none.
	Number, Starter, Replaces int64
}

// MaxArgv bounds Argv, and MaxCommand a message, in bytes.
const MaxArgv, MaxCommand = 4 << 10, 10 << 10
