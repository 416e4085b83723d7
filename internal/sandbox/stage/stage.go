package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/libexec"
)

// Messages of the stage over the link. An error is "error\nwhat failed: why\nhint".
const (
	// TakenOver says that the host may unmount what it mounted for the session.
	TakenOver = "taken over"
	// Refused says that the kernel does not let the stage mount FUSE; what
	// follows on the next line is why. The stage then ends.
	Refused = "refused"
	// Failed begins an error.
	Failed = "error"
)

// Main runs the stage. It returns only if that failed, with the exit code, after
// it told art why.
func Main() int {
	// Capabilities belong to the thread; the one that clears them must be the one
	// that calls execve.
	runtime.LockOSThread()
	link := os.NewFile(LinkFD, "link")
	err := run(link)
	var refused *refusedError
	message := Failed + "\n" + err.Error() + "\n"
	var h cli.Hinted
	switch {
	case errors.As(err, &refused):
		message = Refused + "\n" + err.Error()
	case errors.As(err, &h):
		message += h.Hint()
	}
	// If art is gone there is nobody to tell.
	_ = libexec.SendFD(link, -1, []byte(message))
	return cli.ExitArt
}

type refusedError struct{ error }

// run is the whole of what is done with privilege, in order.
func run(link *os.File) error {
	// The program to end as must get neither.
	unix.CloseOnExec(PlanFD)
	unix.CloseOnExec(ControlFD)
	data, err := io.ReadAll(os.NewFile(PlanFD, "plan"))
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	p, err := unmarshal(data)
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}

	// From here on no mount made below shows on the host, and none of the host's
	// later ones here (mount_namespaces(7), propagation types).
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return cli.WithHint(fmt.Errorf("make mounts private: %w", err), hint.Host{}.Namespaces())
	}

	// Everything of the host is opened before anything is covered, each path once:
	// what a path means cannot be changed after that.
	h, err := open(p)
	if err != nil {
		return err
	}

	if err := makeStaging(p); err != nil {
		return err
	}
	switch p.FUSE {
	case NoFUSE:
	case MountFUSE:
		if err := mountFUSE(p); err != nil {
			return err
		}
	default:
		if err := h.takeOver(p); err != nil {
			return err
		}
		if err := libexec.SendFD(link, -1, []byte(TakenOver)); err != nil {
			return err
		}
	}
	// While art-fuse opens the database.
	if err := h.coverPrivate(p); err != nil {
		return err
	}
	if p.FUSE != NoFUSE {
		if err := waitReady(); err != nil {
			return err
		}
	}
	if err := h.cover(p); err != nil {
		return err
	}
	// After the covers, so that the copies of the sources have them too.
	if err := h.bind(p); err != nil {
		return err
	}
	h.close()

	// bwrap refuses to run with capabilities that it did not get by being setuid.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	// An empty environment: bwrap becomes process 1 of the guest, which can read
	// /proc/1/environ. A traced session's tracer is given the version check alone.
	var env []string
	if caller, ok := os.LookupEnv(libexec.CallerVariable); ok {
		env = []string{libexec.CallerVariable + "=" + caller}
	}
	err = unix.Exec(p.Command[0], p.Command, env)
	return fmt.Errorf("run %s: %w", p.Command[0], err)
}

// mountFUSE mounts FUSE at the plan's home and hands the descriptor to art-fuse.
// The descriptor has to be opened in the user namespace that the mount belongs to
// (fs/fuse/inode.c, fuse_fill_super: "Require mount to happen from the same user
// namespace which opened /dev/fuse").
func mountFUSE(p *Plan) error {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &refusedError{fmt.Errorf("open /dev/fuse: %w", err)}
	}
	defer unix.Close(fd)
	// default_permissions: the kernel checks the modes. allow_other: the guest is
	// in a user namespace below this one; nobody else can reach the mount.
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions,allow_other",
		fd, os.Getuid(), os.Getgid())
	if err := unix.Mount("art", p.Home(), "fuse.art", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return &refusedError{fmt.Errorf("mount FUSE: %w", err)}
	}
	if err := libexec.SendFD(os.NewFile(ControlFD, "control"), fd, []byte("mount")); err != nil {
		return fmt.Errorf("start art-fuse: it ended: %w", err)
	}
	return nil
}

// waitReady waits until art-fuse serves the mount: no access may come before.
func waitReady() error {
	_, message, err := libexec.RecvFD(os.NewFile(ControlFD, "control"))
	if err != nil {
		return fmt.Errorf("start art-fuse: it ended: %w", err)
	}
	kind, rest, _ := strings.Cut(string(message), "\n")
	switch kind {
	case "ready":
		return nil
	case "error":
		what, hint, _ := strings.Cut(rest, "\n")
		return cli.WithHint(errors.New(what), hint)
	}
	return fmt.Errorf("start art-fuse: it answered %q", kind)
}
