// Package decode turns a system call's registers and the memory they point to
// into text, in the notation of strace(1).
//
// What a call's arguments are stands in calls.tbl, one line a call; each word
// there is a kind of argument, and each kind is one function of this package.
// Whatever the memory holds, the text is printable ASCII and of bounded length.
package decode

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/sysnum"
)

// Memory reads the memory of a tracee.
type Memory interface {
	// Read fills buf from addr on and returns how many bytes were readable.
	Read(addr uint64, buf []byte) int
}

// Call is one system call.
type Call struct {
	Pid  int    // the thread that makes it
	Arch uint32 // AUDIT_ARCH_*
	Nr   uint64
	Name string
	Args [6]uint64
	SP   uint64 // stack pointer at the call
	Mem  Memory

	Start time.Time

	// Resumes is the name of the interrupted call that a restart_syscall goes
	// on with.
	Resumes string

	// Known at the exit. Ret is the result, or minus the errno when Failed.
	Ret      int64
	Failed   bool
	Duration time.Duration

	length int64 // see noteLength
}

// Foreign reports whether the call was made through the interface of another
// architecture than this program's: by a 32-bit program, or in the x32 ABI. Its
// number and arguments then mean something else and are shown as numbers.
func (c *Call) Foreign() bool {
	return c.Arch != sysnum.Native.Audit || (c.Nr&sysnum.X32Bit != 0 && uint32(c.Nr) != ^uint32(0))
}

// errno returns the call's error, or 0.
func (c *Call) errno() unix.Errno {
	if c.Failed {
		return unix.Errno(-c.Ret)
	}
	return 0
}

// printer collects the text of a call's arguments.
type printer struct {
	call *Call
	buf  []byte
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

// Enter returns the arguments that are known at the entry of the call: all up to
// the first that the kernel fills in. complete says that these are all.
func Enter(c *Call) (args []string, complete bool) {
	s := signatureOf(c)
	for i := s.output; i < len(s.args); i++ {
		if a := &s.args[i]; a.note != nil {
			a.note(c, c.Args[a.register])
		}
	}
	p := printer{call: c}
	return p.arguments(s.args[:s.output]), s.output == len(s.args)
}

// Exit returns, of a call that has returned, the arguments that Enter left out,
// and the result.
func Exit(c *Call) (args []string, result string) {
	s := signatureOf(c)
	p := printer{call: c}
	args = p.arguments(s.args[s.output:])
	p.buf = p.buf[:0]
	p.result(s.result)
	return args, string(p.buf)
}

func (p *printer) arguments(args []argument) []string {
	var texts []string
	for i := range args {
		p.buf = p.buf[:0]
		if args[i].kind(p, &args[i], p.call.Args[args[i].register]) {
			texts = append(texts, string(p.buf))
		}
	}
	return texts
}
