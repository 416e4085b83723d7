// Package decode turns a system call's registers and the memory they point to
// into text, in the notation of strace(1).
//
// What a call's arguments are stands in package syscalls' table, one line a call; each word
// there is a kind of argument, and each kind is one function of this package.
// Whatever the memory holds, the text is printable ASCII and of bounded length.
package decode

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// Memory reads the memory of a tracee.
type Memory interface {
	// Read fills buf from addr on and returns how many bytes were readable.
	Read(addr uint64, buf []byte) int
}

// Files says what a tracee's descriptors refer to.
type Files interface {
	// Path returns the path of a descriptor's file, or what stands for it, such
	// as pipe:[7]; it is empty for one that is not open.
	Path(fd int) string
	// Dir returns the current directory.
	Dir() string
}

// Sockets says what a tracee's sockets are. Files may have it.
type Sockets interface {
	// Family returns the address family (AF_INET) of a socket; ok is false for what is
	// none.
	Family(fd int) (family int, ok bool)
}

// Endpoints says what a tracee's descriptors are connected to. Files may have it.
type Endpoints interface {
	// Endpoint returns the protocol and the addresses of a socket, such as
	// TCP:[127.0.0.1:1->127.0.0.1:2], printable and with names in quotes; it is empty for what
	// has none.
	Endpoint(fd int) string
	// Device returns the kind and the numbers of a device, such as char 1:3; it is
	// empty for what is none.
	Device(fd int) string
}

// Processes says which process a tracee's pidfds are for. Files may have it.
type Processes interface {
	// Process returns the id of the process that a pidfd is for; it is 0 for what is none.
	Process(fd int) int
}

// Call is one system call.
type Call struct {
	Pid  int    // the thread that makes it
	Arch uint32 // AUDIT_ARCH_*
	Nr   uint64
	Name string
	Args [6]uint64
	Mem  Memory
	SP   uint64 // the stack pointer

	// First says that this call is to execute the command itself.
	First bool

	// EntryOnly says that nobody is told when the call returns.
	EntryOnly bool

	Files Files
	// Show says which descriptors are shown with what they refer to beside their numbers.
	Show Descriptors
	// Hex says which strings and buffers are shown as numbers.
	Hex Hex
	// Whole asks for structures and environments with all their members; else those
	// that strace leaves out by itself are left out.
	Whole bool

	// Strings is how many bytes of a buffer or string are shown, and how many elements
	// of an argument list; 32 of each, as in strace, if it is 0. Paths are shown whole.
	Strings int

	Start time.Time

	// Resumes is the name of the interrupted call that a restart_syscall goes
	// on with.
	Resumes string

	// Known at the exit. Ret is the result, or minus the errno when Failed.
	Ret      int64
	Failed   bool
	Duration time.Duration
	// Injected says that the result is not the kernel's: see Return.
	Injected bool

	replaced []piece // see SetString
	length   int64   // see noteLength
	lengths  []int64 // see noteMmsg
	noted    []byte  // see noteBytes
	printer  printer // at work on this call; here so that it need not be allocated
}

// Foreign reports whether the call was made through the interface of another
// architecture than this program's: by a 32-bit program, or in the x32 ABI. Its
// number then means something else, structures have another layout, and the arguments are
// shown as numbers; Name is that of the call, or syscall_0x… if it is not known.
func (c *Call) Foreign() bool {
	return c.Arch != syscalls.Native.Audit || (c.Nr&syscalls.X32Bit != 0 && uint32(c.Nr) != ^uint32(0))
}

// Narrow reports whether a program with registers of 32 bits made the call.
func (c *Call) Narrow() bool { return c.Arch != syscalls.Native.Audit }

// errno returns the call's error, or 0.
func (c *Call) errno() unix.Errno {
	if c.Failed {
		return unix.Errno(-c.Ret)
	}
	return 0
}

// Reset makes c the zero Call, but keeps what it has allocated.
func (c *Call) Reset() {
	*c = Call{printer: printer{scratch: c.printer.scratch}}
}

// Return makes the call return v. Before the call runs, this also keeps it from
// running.
func (c *Call) Return(v int64) { c.Ret, c.Failed, c.Injected = v, false, true }

// Fail is Return for a call that is to fail with errno.
func (c *Call) Fail(errno unix.Errno) { c.Ret, c.Failed, c.Injected = -int64(errno), true, true }

// printer collects the text of a call's arguments.
type printer struct {
	call    *Call
	buf     []byte
	scratch []byte // for a string that is being read; kept to be used again
}

// print returns a printer of c's that appends to dst.
func (c *Call) print(dst []byte) *printer {
	c.printer.call, c.printer.buf = c, dst
	return &c.printer
}

func (p *printer) str(s string)  { p.buf = append(p.buf, s...) }
func (p *printer) dec(v int64)   { p.buf = strconv.AppendInt(p.buf, v, 10) }
func (p *printer) udec(v uint64) { p.buf = strconv.AppendUint(p.buf, v, 10) }

// hex prints v as C's %#x does.
func (p *printer) hex(v uint64) {
	if v != 0 {
		p.str("0x")
	}
	p.buf = strconv.AppendUint(p.buf, v, 16)
}

// addr prints an address.
func (p *printer) addr(v uint64) {
	if v == 0 {
		p.str("NULL")
	} else {
		p.hex(v)
	}
}

// AppendEnter appends to dst the arguments, separated by ", ", that are known at
// the entry of the call: all up to the first that the kernel fills in. complete
// says that these are all.
func AppendEnter(dst []byte, c *Call) (_ []byte, complete bool) {
	s := begin(c)
	return appendArguments(dst, c, s.args[:s.output]), s.output == len(s.args)
}

// AppendExit is AppendEnter for the arguments that AppendEnter left out, once the
// call has returned.
func AppendExit(dst []byte, c *Call) []byte {
	s := signatureOf(c)
	return appendArguments(dst, c, s.args[s.output:])
}

// AppendResult appends the result of a call that has returned.
func AppendResult(dst []byte, c *Call) []byte {
	p := c.print(dst)
	p.result(signatureOf(c).result)
	return p.buf
}

// Enter is AppendEnter with a string for each argument.
func Enter(c *Call) (args []string, complete bool) {
	s := begin(c)
	return listArguments(c, s.args[:s.output]), s.output == len(s.args)
}

// Exit is AppendExit with a string for each argument.
func Exit(c *Call) (args []string) {
	s := signatureOf(c)
	return listArguments(c, s.args[s.output:])
}

// begin returns the signature of a call that is about to run, and notes what its
// arguments will need to know from now.
func begin(c *Call) *signature {
	s := signatureOf(c)
	for i := s.output; i < len(s.args); i++ {
		if a := &s.args[i]; a.note != nil {
			a.note(c, c.Args[a.register])
		}
	}
	return s
}

func appendArguments(dst []byte, c *Call, args []argument) []byte {
	p := c.print(dst)
	first := true
	for i := range args {
		end := len(p.buf)
		if !first {
			p.str(", ")
		}
		if args[i].kind(p, &args[i], c.Args[args[i].register]) {
			first = false
		} else {
			p.buf = p.buf[:end]
		}
	}
	return p.buf
}

func listArguments(c *Call, args []argument) []string {
	var texts []string
	for i := range args {
		p := c.print(nil)
		if args[i].kind(p, &args[i], c.Args[args[i].register]) {
			texts = append(texts, string(p.buf))
		}
	}
	return texts
}
