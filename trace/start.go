package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/seccomp"
)

// launcherName is argv[0] of the process that becomes the command.
const launcherName = "art-trace-launcher"

// The main goroutine is on the process's first thread while packages are
// initialised (runtime.main), the one that the tracer attaches to.
func init() {
	switch {
	case len(os.Args) > 2 && os.Args[0] == launcherName:
		become(os.Args)
	case len(os.Args) > 2 && os.Args[0] == keeperName:
		keep(os.Args)
	}
}

// ErrNotExecuted wraps the reason why the kernel did not execute the command.
var ErrNotExecuted = errors.New("cannot execute")

// maxMessage is more than the longest message to the launcher: one byte and
// 4096 (BPF_MAXINSNS) instructions of 8 bytes.
const maxMessage = 64 << 10

// launch starts the launcher, attaches to it, and then, not before, lets it load
// the filter and execute the command. The returned socket yields why it could
// not; it is at its end once the command has been executed.
func launch(cmd *Command, filter []unix.SockFilter, files []uintptr) (pid int, report int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("start launcher: %w", err)
	}
	if err = sendStreams(pair[0], files); err == nil {
		pid, err = startSelf(cmd, launcherName, files, pair[1])
	}
	unix.Close(pair[1])
	if err != nil {
		unix.Close(pair[0])
		return 0, 0, fmt.Errorf("start launcher: %w", err)
	}
	err = attachError(pid, seize(pid))
	if err == nil {
		// A byte in front tells "no filter" from the end of file that the
		// launcher sees when we are dead.
		err = unix.Send(pair[0], append([]byte{stopped}, seccomp.Marshal(filter)...), unix.MSG_NOSIGNAL)
	}
	if err != nil {
		unix.Close(pair[0]) // the launcher reads end of file, and exits
		unix.Wait4(pid, nil, 0, nil)
		return 0, 0, fmt.Errorf("trace: %w", err)
	}
	return pid, pair[0], nil
}

// startSelf starts this program once more, by the name that says what it is to be, with sockets in the place of the first of the
// command's streams, which are sent over one of them instead. All other descriptors that are inherited keep their numbers, as the command's
// arguments may speak of them, so a socket can have none of these. And to make one that is inherited without standing among the
// first would have whatever else this process starts meanwhile inherit it, too.
func startSelf(cmd *Command, name string, files []uintptr, sockets ...int) (pid int, err error) {
	files = slices.Clone(files)
	for i, socket := range sockets {
		fd, err := above(socket, files)
		if err != nil {
			return 0, err
		}
		defer unix.Close(fd)
		files[i] = uintptr(fd)
	}
	argv := append([]string{name, cmd.Path}, cmd.argv()...)
	return syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{Dir: cmd.Dir, Env: cmd.environ(), Files: files})
}

// above copies a socket to a number above those of the files, behind which nothing is inherited for a while: [syscall.ForkExec] may copy the pipe
// that tells of an error, and files that stand in the way, to the numbers right behind the highest of the files, whatever is there
// (forkAndExecInChild1 in Go's syscall/exec_linux.go).
func above(socket int, files []uintptr) (int, error) {
	while := len(files) + 2
	for from := int(slices.Max(files)) + 1; ; {
		fd, err := unix.FcntlInt(uintptr(socket), unix.F_DUPFD_CLOEXEC, from)
		if err != nil {
			return 0, err
		}
		from = fd
		for behind := fd + 1; behind <= fd+while; behind++ {
			if flags, err := unix.FcntlInt(uintptr(behind), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				from = behind + 1
			}
		}
		if from == fd {
			return fd, nil
		}
		unix.Close(fd)
	}
}

// sendStreams sends the launcher the command's streams.
func sendStreams(socket int, files []uintptr) error {
	var fds []int
	for _, fd := range files {
		fds = append(fds, int(fd))
	}
	return unix.Sendmsg(socket, []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
}

// receiveStreams puts the command's streams in the place of the first descriptors.
func receiveStreams(socket int) error {
	var b [1]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, space, err := receive(socket, b[:], rights)
	if err != nil || n == 0 {
		return orErr(err, unix.ESRCH)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:space])
	if err != nil || len(messages) != 1 {
		return orErr(err, unix.EBADMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	for i, fd := range fds {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return err
		}
		unix.Close(fd)
	}
	return nil
}

// aside gives a socket that was started with another number, which no program inherits.
func aside(socket int) int {
	fd, err := unix.FcntlInt(uintptr(socket), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		os.Exit(cli.ExitArt)
	}
	return fd
}

// The first byte of the message to the launcher says what its filter does.
const (
	stopped  = iota // it stops for ptrace
	observed        // it asks a listener, which is handed over
)

// isLauncher reports whether a process is the launcher still: the arguments of a process are those of its program.
func isLauncher(pid int) bool {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return bytes.HasPrefix(line, []byte(launcherName+"\x00"))
}

// become is the launcher: it waits until it is traced, loads the filter, and
// executes the command. It does not return.
func become(args []string) {
	sock := aside(0)
	if err := receiveStreams(sock); err != nil {
		os.Exit(cli.ExitArt) // the tracer is gone
	}
	message := make([]byte, maxMessage)
	n, err := unix.Read(sock, message)
	if err != nil || n == 0 {
		os.Exit(cli.ExitArt) // the tracer is gone: nothing runs untraced
	}
	fail := func(stage byte, err error) {
		var errno unix.Errno
		errors.As(err, &errno)
		unix.Write(sock, binary.NativeEndian.AppendUint32([]byte{stage}, uint32(errno)))
		os.Exit(cli.ExitArt)
	}
	if n > 1 {
		prog, err := seccomp.Unmarshal(message[1:n])
		switch {
		case err != nil:
		case message[0] == observed:
			err = installObserved(sock, prog)
		default:
			err = seccomp.Install(prog)
		}
		if err != nil {
			fail(stageFilter, err)
		}
	}
	path, argv, env := args[1], args[2:], os.Environ()
	err = syscall.Exec(path, argv, env)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without a first line that names its interpreter, which
		// execvp(3) gives to the shell.
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), env)
	}
	fail(stageExec, err)
}

// The launcher's report is one of these bytes and an errno, or the listener.
const (
	stageFilter   = 'f'
	stageExec     = 'x'
	stageListener = 'l'
)

// launchError reads the launcher's report: nil when the command was executed.
func launchError(sock int) error {
	var b [5]byte
	n, _, err := unix.Recvfrom(sock, b[:], unix.MSG_DONTWAIT)
	if err != nil || n != len(b) {
		return nil
	}
	return failure(b[:])
}

// failure is the error of which a launcher's report tells.
func failure(report []byte) error {
	errno := unix.Errno(binary.NativeEndian.Uint32(report[1:]))
	if report[0] == stageExec {
		return fmt.Errorf("%w: %w", ErrNotExecuted, errno)
	}
	return fmt.Errorf("load seccomp filter: %w", errno)
}
