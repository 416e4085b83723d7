package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/sandbox/join"
	"github.com/riverlytech/art/internal/sandbox/stub"
)

// joinable is what it takes to have another program join the guest. It is made of what the first one got, before that has
// begun, so that nothing of the guest's decides what another one gets.
type joinable struct {
	thread     *guestThread
	payload    stub.Payload // the first program's
	filter     []byte
	plan       join.Plan
	namespaces []*os.File // in the order of join.Order
	first      *guest     // the guest's first process
	self       *os.File   // art's program, as the guest may have it
	ruleset    *os.File   // what keeps the first program from sockets of the host, or nil
	shell      int        // the stub of the first program, if it stays; or 0
	limit      func(pid int, stubs ...int) error
	calls      *calls
	hostIDs    [2]int // the guest's ids on the host

	mu      sync.Mutex
	running map[*execution]bool // GUARDED_BY(mu); nil once the session has ended
	ended   sync.WaitGroup      // of those that run
}

// errSessionEnded is why there is nothing to be joined any more.
var errSessionEnded = errors.New("join the session: it has ended")

// makeJoinable takes what other programs need to join the guest, from its first process, which is the stub and nothing else
// yet. Of a guest that is traced there is none: what joined it would not be in the trace, which comes from the processes
// below art-trace.
func (s *session) makeJoinable(pid int) error {
	if s.traceLog != nil {
		return nil
	}
	namespaces, err := openNamespaces(s.stage.Pid, pid)
	if err != nil {
		return fmt.Errorf("look at the guest: %w", cli.Reason(err))
	}
	// Of bubblewrap, which is no Go, see limitFiles.
	var files unix.Rlimit
	if err := unix.Prlimit(s.stage.Pid, unix.RLIMIT_NOFILE, nil, &files); err != nil {
		closeFiles(namespaces)
		return fmt.Errorf("look at the guest: %w", err)
	}
	first, err := newGuest(pid, namespaces[0])
	if err != nil {
		closeFiles(namespaces)
		return err
	}
	uid, gid := s.plan.View.UID, s.plan.View.GID
	j := &joinable{
		thread: s.thread, payload: s.payload, filter: s.filter, namespaces: namespaces, first: first, self: s.self, ruleset: s.ruleset,
		plan:  join.Plan{UID: uid, GID: gid, Drop: s.plan.Drop, Files: files.Cur, Namespaces: join.Order},
		shell: s.shell, limit: s.limitProcess, calls: s.calls, running: map[*execution]bool{},
	}
	if j.payload.Workspace == "" {
		j.payload.Workspace = s.plan.View.Workspace // where bubblewrap begins
	}
	j.hostIDs[0], j.hostIDs[1] = s.hostIDs()
	s.joinable = j
	return nil
}

// openNamespaces opens the guest's namespaces. stage is the process of art's that bubblewrap has become, and pid one in the
// guest. An open directory in /proc stays that of its process, even if another gets its id (proc_pident_lookup in
// fs/proc/base.c).
func openNamespaces(stage, pid int) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeFiles(files)
		}
	}()
	var dirs [2]int
	for i, process := range []int{stage, pid} {
		path := fmt.Sprintf("/proc/%d/ns", process)
		if dirs[i], err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		defer unix.Close(dirs[i])
	}
	open := func(dir int, name string) *os.File {
		var fd int
		if err == nil {
			if fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
				files = append(files, os.NewFile(uintptr(fd), name))
				return files[len(files)-1]
			}
			err = &os.PathError{Op: "open", Path: filepath.Join(fmt.Sprintf("/proc/%d/ns", pid), name), Err: err}
		}
		return nil
	}
	// As join.Order has them.
	stages := open(dirs[0], "user")
	for _, name := range []string{"pid", "net", "ipc", "uts", "cgroup", "mnt"} {
		open(dirs[1], name)
	}
	guests := open(dirs[1], "user")
	if err != nil {
		return files, err
	}
	return files, below(guests, stages)
}

// below returns an error unless a user namespace is right below another: then the process is the guest's.
func below(child, parent *os.File) error {
	fd, err := unix.IoctlRetInt(int(child.Fd()), unix.NS_GET_PARENT)
	if err != nil {
		return fmt.Errorf("look at its user namespace: %w", err)
	}
	defer unix.Close(fd)
	var one, other unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &one), unix.Fstat(int(parent.Fd()), &other)); err != nil {
		return fmt.Errorf("look at its user namespace: %w", err)
	}
	if one.Dev != other.Dev || one.Ino != other.Ino {
		return errors.New("the process has ended")
	}
	return nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// add counts a program among those that run.
func (j *joinable) add(x *execution) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running == nil {
		return errSessionEnded
	}
	j.running[x] = true
	j.ended.Add(1)
	return nil
}

// started is called when the process of one has begun.
func (j *joinable) started(x *execution, process *os.Process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if x.process = process; j.running == nil {
		process.Kill()
	}
}

// remove is called when one has ended.
func (j *joinable) remove(x *execution) {
	j.mu.Lock()
	delete(j.running, x)
	j.mu.Unlock()
	j.ended.Done()
}

// setStub notes the process of the stub of x.
func (j *joinable) setStub(x *execution, pid int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	x.stub = pid
}

// stubs are the processes of art's that the kernel counts as the guest's.
func (j *joinable) stubs() []int {
	j.mu.Lock()
	defer j.mu.Unlock()
	pids := []int{j.shell}
	for x := range j.running {
		pids = append(pids, x.stub)
	}
	return pids
}

// processes returns those that have joined on the host's side, whose children are in the guest, and the stubs there.
func (j *joinable) processes() (joined, stubs []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for x := range j.running {
		if x.process != nil {
			joined, stubs = append(joined, x.process.Pid), append(stubs, x.stub)
		}
	}
	return joined, stubs
}

// end is called when the guest has ended. It leaves nothing that would keep its mounts.
func (j *joinable) end() {
	if j == nil {
		return
	}
	j.mu.Lock()
	for x := range j.running {
		if x.process != nil {
			x.process.Kill()
		}
	}
	j.running = nil
	j.mu.Unlock()
	j.ended.Wait()
	closeFiles(j.namespaces)
	j.first.close()
}

// isEnding says whether the guest's first process has ended, which ends the guest.
func (j *joinable) isEnding() bool {
	const moment = 100 // milliseconds, as all of the guest is killed at once
	ready := []unix.PollFd{{Fd: int32(j.first.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(ready, moment)
	return err == nil && n > 0
}
