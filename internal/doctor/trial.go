package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/fusemount"
	"github.com/riverlytech/art/internal/sandbox/idmap"
	"github.com/riverlytech/art/internal/sandbox/stage"
)

// TrialName as the zeroth argument makes art a trial: a process that begins in the
// namespaces that a session begins in, and does there what a session does.
const TrialName = "art-doctor-trial"

// The trials.
const (
	trialMount   = "mount"
	trialProc    = "proc"
	trialFUSE    = "fuse"
	trialNetwork = "network"
)

// place is where trials mount.
const place = "/tmp"

var trials = map[string]func() error{
	trialMount: func() error {
		if err := unix.Mount("none", place, "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("mount in a user namespace: %w", err)
		}
		return nil
	},
	trialProc: func() error {
		if err := unix.Mount("proc", place, "proc", 0, ""); err != nil {
			return fmt.Errorf("mount a new /proc: %w", err)
		}
		return nil
	},
	trialFUSE: func() error {
		fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open /dev/fuse: %w", err)
		}
		// Nobody answers: the mount ends with the process, and nothing looks at it.
		options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, os.Getuid(), os.Getgid())
		if err := unix.Mount("art", place, "fuse.art", 0, options); err != nil {
			return fmt.Errorf("mount FUSE in a user namespace: %w", err)
		}
		return nil
	},
	// In a network of its own, as that of a guest which reaches names alone.
	trialNetwork: func() error {
		runtime.LockOSThread()
		_, by, err := stage.MakeNetwork()
		if err != nil {
			return fmt.Errorf("make a network: %w", err)
		}
		if by != stage.TunDevice {
			return errors.New(noTun + by)
		}
		return nil
	},
}

// noTun precedes what is used in the place of TUN.
const noTun = "without TUN, by "

// Trial runs the trial that the arguments name. It returns the exit code.
func Trial(args []string) int {
	err := errors.New("there is no such trial")
	if len(args) == 1 && trials[args[0]] != nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err == nil {
			err = trials[args[0]]()
		} else {
			err = fmt.Errorf("mount in a user namespace: %w", err)
		}
	}
	if err != nil {
		cli.Fail("art", err)
		return cli.ExitError
	}
	return cli.OK
}

// try starts a trial as a session starts its namespace stage.
func try(trial string) error {
	uid, gid := os.Getuid(), os.Getgid()
	var out bytes.Buffer
	cmd := &exec.Cmd{
		Path:   "/proc/self/exe",
		Args:   []string{TrialName, trial},
		Env:    []string{},
		Stderr: &out,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW},
		},
	}
	err := cmd.Start()
	if err != nil {
		return fmt.Errorf("make a user namespace: %w", cli.Reason(err))
	}
	if err := cmd.Wait(); err != nil {
		return said(strings.TrimSpace(out.String()), err)
	}
	return nil
}

// mapped says why the files in dir cannot be shown to a guest of root's with that id as its own.
func mapped(id int, dir string) error {
	m, err := idmap.New(id)
	if err != nil {
		return err
	}
	defer m.Close()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return m.Try(fd)
}

// fusermount mounts FUSE with fusermount3 for a moment.
func fusermount() error {
	dir, err := os.MkdirTemp("", "art-doctor-")
	if err != nil {
		return fmt.Errorf("make a directory to mount on: %w", err)
	}
	defer os.Remove(dir)
	fd, err := fusemount.Mount(dir, fusemount.Options{Source: "art"})
	if err != nil {
		return err
	}
	// Closed first: whoever looks at the mount waits for an answer as long as it is open.
	unix.Close(fd)
	return fusemount.Unmount(dir, true)
}
