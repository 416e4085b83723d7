package control

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CommandsFD is the socket over which art-fuse hears of the guest's commands, and asks about them. CountFD is a file in memory, which
// counts the messages that art has sent: so it takes no call to see that there is none.
const (
	CommandsFD = FilesFD + 1 + iota
	CountFD
)

// MapCount maps the count in a file in memory, and closes that. The count is there until the process ends.
func MapCount(f *os.File) (*atomic.Uint64, error) {
	defer f.Close()
	const size = 8
	if err := f.Truncate(size); err != nil {
		return nil, fmt.Errorf("count messages: %w", err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("count messages: %w", err)
	}
	return (*atomic.Uint64)(unsafe.Pointer(&b[0])), nil
}

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
	// Number is of Executed: commands count from 1.
	Number int64
}

// MaxArgv bounds Argv, and MaxCommand a message, in bytes.
const MaxArgv, MaxCommand = 4 << 10, 10 << 10
