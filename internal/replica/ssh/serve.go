package ssh

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/paths"
	"github.com/riverlytech/art/libexec"
)

// options are those of a connection that nobody sits at, and that serves nothing but SFTP, whatever the user's settings say. See ssh_config(5).
var options = []string{
	"-oBatchMode=yes", // nothing is asked
	"-oLogLevel=ERROR",
	"-oConnectTimeout=10",
	"-oServerAliveInterval=5", "-oServerAliveCountMax=3", // a network that is gone is noticed after 15 seconds
	"-oControlPath=none",        // a shared connection would end with another session, or hang with it
	"-oClearAllForwardings=yes", // ports
	"-oForwardAgent=no", "-oForwardX11=no", "-oPermitLocalCommand=no", "-oRemoteCommand=none", "-oRequestTTY=no",
}

// Serve starts ssh each time that the process at the other end of standard input asks for it, until that has ended. args are an [Address].
func Serve(args []string) error {
	if len(args) != 3 {
		return errors.New("read the command line: host, port and user are missing")
	}
	runtime.LockOSThread() // Pdeathsig is sent when the thread ends that has started a process
	words := slices.Clone(options)
	if args[1] != "" {
		words = append(words, "-p", args[1])
	}
	if args[2] != "" {
		words = append(words, "-l", args[2])
	}
	words = append(words, "-s", "--", args[0], "sftp")
	for {
		switch _, _, err := libexec.RecvFD(os.Stdin); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := answer(words); err != nil {
			return err
		}
	}
}

// answer starts ssh, and sends two descriptors: its standard input and output, and its standard error.
func answer(words []string) error {
	pipe, said, err := start(words)
	if err != nil {
		return libexec.SendFD(os.Stdin, -1, []byte(err.Error()))
	}
	defer pipe.Close()
	defer said.Close()
	if err := libexec.SendFD(os.Stdin, int(pipe.Fd()), []byte(started)); err != nil {
		return err
	}
	return libexec.SendFD(os.Stdin, int(said.Fd()), []byte(started))
}

// lookup is exec.LookPath, but for what lies below the current directory: that is a workspace mostly, and what is there may be a guest's. A home is none.
func lookup() (string, error) {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return "", err
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		program, err := exec.LookPath(filepath.Join(dir, "ssh"))
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(program); err == nil && (here == "/" || here == paths.Resolve(os.Getenv("HOME")) || !paths.Within(real, here)) {
			return program, nil
		}
	}
	return "", ErrMissing
}

func start(words []string) (pipe, said *os.File, err error) {
	program, err := lookup()
	if err != nil {
		return nil, nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	mine, its := os.NewFile(uintptr(fds[0]), "ssh"), os.NewFile(uintptr(fds[1]), "ssh")
	defer its.Close()
	said, says, err := os.Pipe()
	if err != nil {
		mine.Close()
		return nil, nil, err
	}
	defer says.Close()
	cmd := exec.Command(program, words...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = its, its, says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		mine.Close()
		said.Close()
		return nil, nil, cli.Reason(err)
	}
	go func() { _ = cmd.Wait() }() // its end is that of the pipe
	return mine, said, nil
}
