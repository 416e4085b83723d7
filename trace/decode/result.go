package decode

import (
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel's errors that never reach a program: they say how an interrupted
// call goes on after the signal (include/linux/errno.h).
const (
	errRestartSys    = unix.Errno(512)
	errRestartNoIntr = unix.Errno(513)
	errRestartNoHand = unix.Errno(514)
	errRestartBlock  = unix.Errno(516)
)

var restartTexts = map[unix.Errno]string{
	errRestartSys:    "ERESTARTSYS (To be restarted if SA_RESTART is set)",
	errRestartNoIntr: "ERESTARTNOINTR (To be restarted)",
	errRestartNoHand: "ERESTARTNOHAND (To be restarted if no handler)",
	errRestartBlock:  "ERESTART_RESTARTBLOCK (Interrupted by signal)",
}

// results print the result of a call that has not failed, by their names in
// package syscalls' table.
var results = map[string]func(p *printer, v int64){
	"":            func(p *printer, v int64) { p.dec(v) },
	"fd":          func(p *printer, v int64) { p.fd(int32(v)) },
	"ulong":       func(p *printer, v int64) { p.udec(uint64(v)) },
	"hex":         func(p *printer, v int64) { p.hex(uint64(v)) },
	"octal":       func(p *printer, v int64) { p.mode(uint32(v)) },
	"signal":      func(p *printer, v int64) { p.named(v, SignalName(int(v))) },
	"sched":       func(p *printer, v int64) { p.schedResult(v) },
	"fcntl":       fcntlResult,
	"ioctl":       ioctlResult,
	"personality": personalityResult,
	"poll":        pollResult,
	"mmsg":        mmsgResult,
	"prctl":       prctlResult,
	"time":        timeResult,
	"ioprio": func(p *printer, v int64) {
		p.dec(v)
		p.str(" (")
		p.ioprio(uint32(v))
		p.str(")")
	},
	"time_state": func(p *printer, v int64) {
		p.dec(v)
		p.str(" (")
		p.printName(rareFlags["time_state"], uint64(v))
		p.str(")")
	},
	"select": selectResult,
}

// named prints a number and, in parentheses, what it stands for.
func (p *printer) named(v int64, name string) {
	p.dec(v)
	p.str(" (" + name + ")")
}

func (p *printer) schedResult(v int64) {
	p.dec(v)
	p.str(" (")
	p.printName(processFlags["sched"], uint64(v))
	p.str(")")
}

// result prints what the call returned.
func (p *printer) result(kind string) {
	if p.call.Failed {
		p.str(ErrorText(p.call.errno()))
		return
	}
	results[kind](p, p.call.Ret)
}

// ErrorText is the result of a failed call: -1, the error's name and the
// C library's text for it.
func ErrorText(errno unix.Errno) string {
	if text := restartTexts[errno]; text != "" {
		return "? " + text
	}
	name := errnoName(errno)
	if name == "" {
		return "-1 (errno " + errno.Error() + ")"
	}
	text := errno.Error()
	return "-1 " + name + " (" + strings.ToUpper(text[:1]) + text[1:] + ")"
}

// ErrorName is the name of a call's error, or "" when it did not fail.
func ErrorName(c *Call) string {
	errno := c.errno()
	if errno == 0 {
		return ""
	}
	if text := restartTexts[errno]; text != "" {
		name, _, _ := strings.Cut(text, " ")
		return name
	}
	return errnoName(errno)
}

// errnoName is the errno's name, where there are two the one that strace uses.
func errnoName(errno unix.Errno) string {
	switch errno {
	case unix.EOPNOTSUPP:
		return "EOPNOTSUPP" // and ENOTSUP
	case unix.EDEADLK:
		return "EDEADLK" // and EDEADLOCK
	}
	return unix.ErrnoName(errno)
}
