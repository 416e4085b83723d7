package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cgroup"
	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
)

// processLimits are the limits that the kernel keeps for each process (setrlimit(2)),
// which every process of the guest inherits and none can raise; that of memory the
// stub sets (stub.Payload). Processes are counted for the
// guest as a whole, since it is alone in its user namespace. Where a control group can
// be had (package cgroup), memory and processes are limited by that as well.
var processLimits = map[string]int{
	"cpu_time":  unix.RLIMIT_CPU,
	"file_size": unix.RLIMIT_FSIZE,
	"files":     unix.RLIMIT_NOFILE,
	"processes": unix.RLIMIT_NPROC,
}

// checkLimits returns an error for a limit that cannot be kept.
func checkLimits(o *request, limits map[string]config.Limit) error {
	if l, ok := limits["database"]; ok && o.Database == "" {
		return cli.WithHint(fmt.Errorf("%s: limit the database: there is none", l.Origin), "name one with --db DB")
	}
	return nil
}

// checkProcesses returns an error for a limit of processes that cannot be kept, the guest having root's id.
func (s *session) checkProcesses() error {
	l, ok := s.limits["processes"]
	if !ok || !s.plan.View.CallerIsRoot {
		return nil
	}
	// kernel/fork.c, copy_process: INIT_USER is let pass.
	if _, err := cgroup.Find(groupLimits(s.limits)); err != nil {
		return cli.WithHint(fmt.Errorf("%s: limit the processes: the kernel holds root to no such limit but by a control group: %w", l.Origin, err),
			"run art as an ordinary user, or take the limit out; art doctor tells about control groups, and about the id of a guest of root's")
	}
	return nil
}

// limitGuest sets the limits of the guest's first process, which waits for that.
func (s *session) limitGuest(pid int) error {
	if l, ok := s.limits["time"]; ok {
		s.timeout = time.After(time.Duration(l.Value) * time.Second)
	}
	if err := s.makeGroup(); err != nil {
		return err
	}
	return s.limitProcess(pid, s.shell)
}

// limitProcess sets the limits of a process of the guest's, which all that it starts has. Stubs are those that stay with
// programs. It may be called by any goroutine when there is a guest.
func (s *session) limitProcess(pid int, stubs ...int) error {
	for name, resource := range processLimits {
		if l, ok := s.limits[name]; ok {
			value := l.Value
			if name == "processes" {
				value += uncounted(stubs)
			}
			if err := limit(pid, resource, value); err != nil {
				return fmt.Errorf("%s: limit %s: %w", l.Origin, name, err)
			}
		}
	}
	if err := s.limitFiles(pid, stubs); err != nil {
		return fmt.Errorf("limit files: %w", err)
	}
	if s.group == nil {
		return nil
	}
	return s.group.Add(pid)
}

// limitFiles gives the child of a stub the soft limit of open files that the session was started with. Go raises its own
// to the hard one, and only its own execve takes that back (adjustFileLimit in os/rlimit.go).
func (s *session) limitFiles(pid int, stubs []int) error {
	if !slices.ContainsFunc(stubs, func(stub int) bool { return stub != 0 }) || s.traceLog != nil {
		return nil
	}
	var first, own unix.Rlimit // of bubblewrap, which is no Go
	if err := errors.Join(unix.Prlimit(s.stage.Pid, unix.RLIMIT_NOFILE, nil, &first), unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &own)); err != nil {
		return err
	}
	own.Cur = min(first.Cur, own.Max)
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &own, nil)
}

// laterThreads is how many threads Go's runtime may start in a stub after they were counted, for a goroutine that waits in
// a system call (handoffp in runtime/proc.go) and to collect garbage. A guest gets that many more processes rather than fewer.
const laterThreads = 4

// uncounted is how many threads stubs have that stay with programs: the kernel counts them as the guest's, and no limit of
// the user's means them.
func uncounted(stubs []int) (n uint64) {
	for _, pid := range stubs {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if pid != 0 && err == nil {
			n += uint64(len(threads)) + laterThreads
		}
	}
	return n
}

func groupLimits(limits map[string]config.Limit) cgroup.Limits {
	return cgroup.Limits{Memory: limits["memory"].Value, Processes: limits["processes"].Value}
}

// counted says whether memory is limited for each process alone, as no control group can be had.
func counted(limits map[string]config.Limit) bool {
	if limits["memory"].Value == 0 {
		return false
	}
	_, err := cgroup.Find(groupLimits(limits))
	return errors.Is(err, cgroup.ErrNone)
}

// makeGroup makes a control group for the guest, if one can be had that keeps its limits.
func (s *session) makeGroup() error {
	l := groupLimits(s.limits)
	if l == (cgroup.Limits{}) {
		return nil
	}
	place, err := cgroup.Find(l)
	if errors.Is(err, cgroup.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	s.group, err = place.Make(l)
	return err
}

// endGroup removes the guest's control group, after the guest has ended.
func (s *session) endGroup() {
	if s.group == nil {
		return
	}
	if n := s.group.Killed(); n > 0 {
		fmt.Fprintf(os.Stderr, "art: %d killed: all the memory that %s allows was in use\n", n, s.limits["memory"].Origin)
	}
	s.group.Close()
}

// limitDatabase sets how large the database's file may become, and its log, which
// to the guest is a full disk. They grow only once art-fuse has a mount to serve.
func (s *session) limitDatabase(pid int) error {
	if l, ok := s.limits["database"]; ok {
		if err := limit(pid, unix.RLIMIT_FSIZE, l.Value); err != nil {
			return fmt.Errorf("%s: limit the database: %w", l.Origin, err)
		}
	}
	return nil
}

// limit lowers a limit of the process pid; one that is lower already stays.
func limit(pid, resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
}

// timeUp ends the session whose time is over: as a terminal and a system do that end, and by force what stays then.
func (s *session) timeUp() {
	l := s.limits["time"]
	limit := time.Duration(l.Value) * time.Second
	why := fmt.Sprintf("its time was over, %v", limit)
	if s.hasEnded() {
		s.endedBy(why)
		if s.isLeft() {
			fmt.Fprintf(os.Stderr, "art: the session's time is over: %s limits it to %v\n", l.Origin, limit)
		}
		s.letEnd()
		return
	}
	s.fail(cli.WithHint(errors.New("run the command: its time is over"), fmt.Sprintf("%s limits it to %v", l.Origin, limit)))
	s.endSoon(why)
	s.guest.signal(unix.SIGTERM)
	if s.job {
		s.guest.hangUp() // shells ignore the other
	}
}
