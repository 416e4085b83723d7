package attack

import (
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func rights() []Attempt {
	return area("rights", []Attempt{
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
		{Name: "hand its memory to what handles crashes", Needs: Host, try: func(*Target) error {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
				return err
			}
			return crashes(limit.Max)
		}},
		{Name: "choose the limit that lets a crash through", Needs: Host, try: chooseCrashLimit},
		{Name: "raise the limit of what it leaves in a crash", Needs: Host, try: raiseCrashLimit},
	})
}

// crashes succeeds if a crash with that limit leaves something on the host: a file from the least that one takes, and
// whatever a program or a socket is given, which the limit of 1 alone stops (core(5), fs/coredump.c).
func crashes(limit uint64) error {
	const least = 4096
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return err
	}
	if pattern[0] == '|' || pattern[0] == '@' {
		return found(limit != 1)
	}
	return found(limit >= least)
}

// raiseCrashLimit raises the limit of core dumps.
func raiseCrashLimit(*Target) error {
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	return crashes(limit.Max)
}

// chooseCrashLimit sets the limit of core dumps to the one with which the host's program for them is started.
func chooseCrashLimit(*Target) error {
	limit := unix.Rlimit{}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	return found(limit.Max == 0)
}
