package stub

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/sandbox/scope"
	"github.com/riverlytech/art/internal/seccomp"
)

// exec becomes the command, found as execvp(3) finds it. It returns only if that
// failed, with the exit code.
func (p *Payload) exec(set scope.Ruleset) int {
	if err := set.Restrict(); err != nil {
		return fail(fmt.Errorf("scope the guest: %w", err))
	}
	p.rehearse()
	if err := p.loadFilter(); err != nil {
		return fail(err)
	}
	resetSignals()
	if err := p.limitMemory(); err != nil {
		return fail(err)
	}
	return p.notExecuted(p.search(p.Command[0]))
}

// notExecuted says why the command was not, and returns the exit code.
func (p *Payload) notExecuted(err error) int {
	name := p.Command[0]
	switch {
	case errors.Is(err, unix.ENOENT) && !strings.Contains(name, "/"):
		err := fmt.Errorf("%s: command not found", name)
		switch word := flags.Meant(name); {
		case name == "help" || name == "version":
			err = cli.WithHint(err, "did you mean art --"+name+"?")
		case word == "":
		case word == name:
			err = cli.WithHint(err, "a subcommand of art comes first: art "+word)
		default:
			err = cli.WithHint(err, "did you mean art "+word+"?")
		}
		cli.Fail("art", err)
		return cli.ExitNotFound
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		// Also what the kernel says of a script whose interpreter is missing.
		if _, statErr := os.Stat(name); statErr == nil {
			cli.Fail("art", fmt.Errorf("%s: its interpreter was not found", name))
			return cli.ExitCannotExec
		}
		cli.Fail("art", fmt.Errorf("%s: %w", name, err))
		return cli.ExitNotFound
	}
	cli.Fail("art", fmt.Errorf("%s: %w", name, err))
	return cli.ExitCannotExec
}

// loadFilter loads the tracer's filter into this thread. From then on it makes
// none of the calls that art-trace shows but execve.
func (p *Payload) loadFilter() error {
	if p.Filter == nil {
		return nil
	}
	program, err := seccomp.Unmarshal(p.Filter)
	if err != nil {
		return err
	}
	return seccomp.Install(program)
}

func (p *Payload) search(name string) error {
	result := error(unix.ENOENT)
	for _, path := range p.candidates(name) {
		err := p.execve(path)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			if strings.Contains(name, "/") {
				return err
			}
		case errors.Is(err, unix.EACCES):
			result = err // a later directory may hold one that can be run
		default:
			return err
		}
	}
	return result
}

// candidates are the paths at which the command may be.
func (p *Payload) candidates(name string) []string {
	switch {
	case name == "":
		return nil
	case strings.Contains(name, "/"):
		return []string{name}
	}
	var paths []string
	for _, dir := range p.Path() {
		if dir == "" {
			dir = "." // environ(7): an empty prefix is the current directory
		}
		paths = append(paths, dir+"/"+name)
	}
	return paths
}

// limitMemory sets the limit of memory, which every program that comes after inherits. It comes last: Go reserves more
// than some programs need, and ends where it does not get that.
func (p *Payload) limitMemory() error {
	limit, err := p.memoryLimit()
	if err == nil && limit != nil {
		err = unix.Prlimit(0, unix.RLIMIT_DATA, limit, nil)
	}
	if err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}

// rehearse has Go's runtime get the memory that the way to execve(2) needs, while it can. Its heap grows by pieces of 4 MiB up to a
// boundary, of which it begins at a random distance (randomizeHeapBase in runtime/malloc.go), so that there may be next to
// nothing left; and what is called for the first time needs some beside it.
func (p *Payload) rehearse() {
	if p.Memory == 0 {
		return
	}
	runtime.KeepAlive(make([]byte, 4<<20)) // too large for the stack
	runtime.GC()
	_ = errors.Is(p.execve("/"), unix.ENOENT) // as a directory, it is not executed
}

// memoryLimit returns the limit of memory to set, or nil.
func (p *Payload) memoryLimit() (*unix.Rlimit, error) {
	if p.Memory == 0 {
		return nil, nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return nil, err
	}
	limit.Max = min(limit.Max, p.Memory)
	limit.Cur = limit.Max
	return &limit, nil
}

func (p *Payload) execve(path string) error {
	err := syscall.Exec(path, p.Command, p.Env)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without an interpreter line, as every shell runs it.
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, p.Command[1:]...), p.Env)
	}
	return err
}

// shell returns the first shell that the guest has and may execute.
func (p *Payload) shell() (string, error) {
	for _, shell := range p.Shells {
		if info, err := os.Stat(shell); err == nil && info.Mode().IsRegular() && unix.Access(shell, unix.X_OK) == nil {
			return shell, nil
		}
	}
	return "", fmt.Errorf("start a shell: there is none of %s", strings.Join(p.Shells, ", "))
}

// closeOnExec marks everything but the standard streams: what art, bubblewrap and
// whoever started art left open is none of the guest's business.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11 (close_range(2)).
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// resetSignals gives the payload the dispositions and the mask of a fresh login:
// execve(2) keeps ignored and blocked signals, and the caller's are not the
// guest's. SIGURG stays Go's until execve resets it: the runtime preempts with it.
//
//go:nosplit
//go:norace
func resetSignals() {
	var action [4]uintptr // struct sigaction of the kernel: SIG_DFL, no flags, no mask
	for sig := uintptr(1); sig <= maxSignal; sig++ {
		switch unix.Signal(sig) {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGURG:
			continue
		}
		// Fails only for signals that the C library keeps; there is none here.
		unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, signalSetSize, 0, 0)
	}
	var none uint64
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, signalSetSize, 0, 0)
}

// Signals of the kernel, and the size of a set of them in bytes.
const maxSignal, signalSetSize = 64, 8
