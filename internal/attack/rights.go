package attack

import (
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var rights = []Attempt{
	{Name: "gain privileges by executing a program", try: func(*Target) error {
		kept, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if err != nil {
			return err
		}
		return found(kept == 0)
	}},
	{Name: "have capabilities", Needs: Root, try: func(*Target) error {
		set, err := field("/proc/self/status", "CapEff")
		if err != nil {
			return err
		}
		return found(strings.Trim(set, "0") != "")
	}},
	{Name: "become another user", Needs: Root, try: func(*Target) error { return syscall.Setuid(12345) }},
	{Name: "name the host", Needs: Root, try: func(*Target) error {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		return unix.Sethostname([]byte(name))
	}},
	{Name: "set the clock", Needs: Root, try: func(*Target) error {
		now := unix.NsecToTimespec(time.Now().UnixNano())
		return call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&now)))
	}},
	{Name: "come before all other processes", Needs: Host, try: func(*Target) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) }},
	{Name: "run in real time", Needs: Host, try: func(*Target) error {
		priority := int32(1)
		return call(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO, uintptr(unsafe.Pointer(&priority)))
	}},
	{Name: "raise a limit", Needs: Host, try: func(*Target) error {
		if err := unix.Setrlimit(unix.RLIMIT_MSGQUEUE, &unix.Rlimit{}); err != nil {
			return err
		}
		return unix.Setrlimit(unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Max: 1})
	}},
}

func init() { area("rights", rights) }
