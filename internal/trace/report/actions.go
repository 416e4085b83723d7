package report

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// verb is what a call does.
type verb int

const (
	executes verb = iota
	opens         // becomes one of the next three
	reads
	writes
	readsAndWrites
	deletes
	renames
	connects
	listens
)

// pathArg says where a call has a path: in a register, relative to the directory
// in another one, or to the working directory.
type pathArg struct{ dir, path int }

const workingDir = -1

// action is what the report wants to know of a call.
type action struct {
	verb    verb
	paths   []pathArg
	arg     int                         // executes: the register with the arguments
	flags   func(*decode.Call) uint64   // opens
	address func(c *decode.Call) string // connects
}

func at(dir, path int) []pathArg { return []pathArg{{dir, path}} }

func flagsIn(register int) func(*decode.Call) uint64 {
	return func(c *decode.Call) uint64 { return c.Args[register] }
}

var (
	writesFirst  = action{verb: writes, paths: at(workingDir, 0)}
	writesSecond = action{verb: writes, paths: at(workingDir, 1)}
	writesAt     = action{verb: writes, paths: at(0, 1)}
	deletesFirst = action{verb: deletes, paths: at(workingDir, 0)}
	renamesAt    = action{verb: renames, paths: []pathArg{{0, 1}, {2, 3}}}
)

var actions = map[string]action{
	"execve":   {verb: executes, paths: at(workingDir, 0), arg: 1},
	"execveat": {verb: executes, paths: at(0, 1), arg: 2},

	"open":   {verb: opens, paths: at(workingDir, 0), flags: flagsIn(1)},
	"openat": {verb: opens, paths: at(0, 1), flags: flagsIn(2)},
	"openat2": {verb: opens, paths: at(0, 1), flags: func(c *decode.Call) uint64 {
		return decode.Word(c.Mem, c.Args[2]) // the first member of struct open_how
	}},

	"creat": writesFirst, "truncate": writesFirst, "mkdir": writesFirst, "mknod": writesFirst,
	"chmod": writesFirst, "chown": writesFirst, "lchown": writesFirst, "setxattr": writesFirst, "lsetxattr": writesFirst,
	"removexattr": writesFirst, "lremovexattr": writesFirst,
	"mkdirat": writesAt, "mknodat": writesAt, "fchmodat": writesAt, "fchmodat2": writesAt, "fchownat": writesAt,
	"link": writesSecond, "symlink": writesSecond,
	"linkat":    {verb: writes, paths: at(2, 3)},
	"symlinkat": {verb: writes, paths: at(1, 2)},

	"unlink": deletesFirst, "rmdir": deletesFirst,
	"unlinkat": {verb: deletes, paths: at(0, 1)},
	"rename":   {verb: renames, paths: []pathArg{{workingDir, 0}, {workingDir, 1}}},
	"renameat": renamesAt, "renameat2": renamesAt,

	"listen": {verb: listens},
	"connect": {verb: connects, address: func(c *decode.Call) string {
		return decode.Address(c.Mem, c.Args[1], uint64(uint32(c.Args[2])))
	}},
	"sendto": {verb: connects, address: func(c *decode.Call) string {
		return decode.Address(c.Mem, c.Args[4], uint64(uint32(c.Args[5])))
	}},
	"sendmsg": {verb: connects, address: func(c *decode.Call) string {
		return decode.MessageAddress(c.Mem, c.Args[1])
	}},
}

// wide are calls whose structures differ for a 32-bit program.
var wide = map[string]bool{"sendmsg": true}

// openVerb tells from the flags of an open what it is for.
func openVerb(flags uint64) verb {
	switch mode := flags & unix.O_ACCMODE; {
	case mode == unix.O_WRONLY || flags&(unix.O_CREAT|unix.O_TRUNC) != 0:
		return writes
	case mode != unix.O_RDONLY:
		return readsAndWrites
	}
	return reads
}

// Bounds of what is shown of a program's arguments. Those of all programs are bounded in a counter.
const (
	maxArgs = 4096
	maxArg  = 4096 // bytes
)

// commandLine is the program's arguments as one would type them, and as they are.
func commandLine(c *decode.Call, argv uint64) (line string, args []string) {
	args, more := decode.Strings(c.Mem, argv, maxArgs, maxArg)
	typed := make([]string, len(args), len(args)+1)
	for i, arg := range args {
		typed[i] = printable(arg)
	}
	if more {
		typed = append(typed, "...")
	}
	return strings.Join(typed, " "), args
}

// printable returns s as it is, or quoted where that could be misread.
func printable(s string) string {
	plain := s != ""
	for _, c := range []byte(s) {
		plain = plain && c > ' ' && c <= '~' && !strings.ContainsRune("\"'\\$`;&|<>()*?#", rune(c))
	}
	if plain {
		return s
	}
	return decode.Quote([]byte(s))
}
