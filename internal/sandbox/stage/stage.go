package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/hint"
	"github.com/riverlytech/art/internal/sandbox/view"
	"github.com/riverlytech/art/libexec"
)

// Main runs the stage. It returns only if that failed, with the exit code, after
// it told art why.
func Main() int {
	// Capabilities belong to the thread; the one that clears them must be the one
	// that calls execve.
	runtime.LockOSThread()
	link := os.NewFile(LinkFD, "link")
	err := run(link)
	message := control.Failure(err)
	var refused *refusedError
	if errors.As(err, &refused) {
		message.Kind = control.Refused
	}
	// If art is gone there is nobody to tell.
	_ = control.Send(link, -1, message)
	return cli.ExitArt
}

type refusedError struct{ error }

// run is the whole of what is done with privilege, in order.
func run(link *os.File) error {
	// The program to end as must get neither.
	unix.CloseOnExec(PlanFD)
	unix.CloseOnExec(ControlFD)
	// What needs no plan comes first: art is still making it. Mounts are not private yet, as it may have the host mount
	// something by that (autofs(5)).
	if err := LimitCores(); err != nil {
		return err
	}
	if err := sealSelf(); err != nil {
		return err
	}

	p := &Plan{}
	err := control.ReadFile(os.NewFile(PlanFD, "plan"), p)
	if errors.Is(err, io.EOF) {
		return errors.New("there is no plan") // and nobody who asks
	}
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}

	if !p.Tunnel {
		if err := giveUpNetwork(); err != nil {
			return err
		}
	}

	// It takes a while to look about, in which the rest goes on; nothing is covered before that is done.
	l := make(chan findings, 1)
	go func() { l <- look(&p.View) }()

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
	h.control, h.link = os.NewFile(ControlFD, "control"), link
	if err := h.makeStaging(p); err != nil {
		return err
	}
	if err := h.mount(p); err != nil {
		return err
	}
	args, err := h.show(p, l)
	if err != nil {
		return err
	}
	args = append(append(p.Command, args...), "--", Stub)
	if err := control.Send(link, SelfFD, control.Message{Kind: control.Leaving, Ready: h.served}); err != nil {
		return err
	}
	return becomeBubblewrap(p, args, link)
}

// becomeBubblewrap gives up all rights and executes it, or the tracer around it.
func becomeBubblewrap(p *Plan, args []string, link *os.File) error {
	programs, err := openPrograms(p)
	if err != nil {
		return err
	}
	if err := becomeGuest(p, link); err != nil {
		return err
	}
	reach(args, programs)
	// Who ends a login ends all of its processes at once (SendSIGHUP in systemd.kill(5)): art is to end the guest by then, not
	// bubblewrap. The guest has its own again from the stub.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	// An empty environment: bwrap becomes process 1 of the guest, which with a tracer can
	// read /proc/1/environ. A traced session's tracer is given the version check alone.
	var env []string
	if caller, ok := os.LookupEnv(libexec.CallerVariable); ok {
		env = []string{libexec.CallerVariable + "=" + caller}
	}
	err = unix.Exec(args[0], args, env)
	return fmt.Errorf("run %s: %w", p.Command[0], err)
}

// mount has art-fuse get the session's mounts of FUSE.
func (h *handles) mount(p *Plan) error {
	switch p.FUSE {
	case NoFUSE:
		return nil
	case MountFUSE:
		if err := h.mountFUSE(p, p.Home()); err != nil {
			return err
		}
		for i := range p.Layers {
			if err := h.mountFUSE(p, p.Layer(i)); err != nil {
				return errors.New(err.Error()) // art-fuse has the first: there is no other way any more
			}
		}
		return nil
	}
	if err := h.takeOver(p); err != nil {
		return err
	}
	return control.Send(h.link, -1, control.Message{Kind: control.TakenOver})
}

// LimitCores keeps the memory of a process that crashes from whatever the host has for that: a file, or a program that
// core(5) starts with root's rights and all that memory for input. Only a limit of exactly 1 byte stops the latter
// (fs/coredump.c, coredump_pipe), and nobody below can raise it. Where the caller's own limit is 0 it stays so.
func LimitCores() error {
	err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	var limit unix.Rlimit
	if err != nil && unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil && limit.Max == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	return nil
}

// findings are what there is to be hidden on this host.
type findings struct {
	private []string
	sockets []string
	proc    *view.ProcCovers // of a traced guest, whose /proc bubblewrap mounts
	err     error
}

func look(v *view.View) (f findings) {
	if f.private, f.err = findPrivate(v); f.err != nil {
		return f
	}
	if f.sockets, f.err = findSockets(); f.err == nil && v.Traced {
		f.proc, f.err = v.ProcCovers("/proc")
	}
	return f
}

// show makes the guest's tree of mounts, and returns how bubblewrap is told of it. Most of that is
// done while art-fuse opens the database.
func (h *handles) show(p *Plan, l <-chan findings) (args []string, err error) {
	tree, err := p.View.Tree()
	if err != nil {
		return nil, err
	}
	found := <-l
	if found.err != nil {
		return nil, found.err
	}
	// By now all is looked at that is to be of the host's network, and the host's devices are still there.
	if p.Tunnel {
		if err := h.makeNetwork(); err != nil {
			return nil, err
		}
		if err := giveUpNetwork(); err != nil {
			return nil, err
		}
	}
	if err := h.coverPrivate(p, tree, &found); err != nil {
		return nil, err
	}
	if err := h.await(p, control.Opened); err != nil {
		return nil, err
	}
	if err := h.cover(p); err != nil {
		return nil, err
	}
	// After the covers, so that the copies of what is bound have them too.
	b, err := newBuilder(p, tree, h)
	if err != nil {
		return nil, err
	}
	args = p.View.Args(b.path, found.proc, StatusFD, FilterFD)
	if err := readOnly(); err != nil {
		return nil, err
	}
	if err := b.take(tree.Steps); err != nil {
		return nil, err
	}
	// Lookups in the FUSE mount block until art-fuse serves it.
	if p.FUSE != NoFUSE && (tree.Looks || len(p.HideHome) > 0) {
		if err := h.await(p, control.Ready); err != nil {
			return nil, err
		}
		h.served = true
		if err := h.coverHome(p, b.within(tree.Home)); err != nil {
			return nil, err
		}
	}
	return args, b.take(tree.Own)
}

// mountFUSE mounts FUSE at dir and hands the descriptor to art-fuse.
// The descriptor has to be opened in the user namespace that the mount belongs to
// (fs/fuse/inode.c, fuse_fill_super: "Require mount to happen from the same user
// namespace which opened /dev/fuse").
func (h *handles) mountFUSE(p *Plan, dir string) error {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &refusedError{fmt.Errorf("open /dev/fuse: %w", err)}
	}
	defer unix.Close(fd)
	uid, gid := p.ids()
	// default_permissions: the kernel checks the modes. allow_other: the guest is
	// in a user namespace below this one; nobody else can reach the mount.
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions,allow_other",
		fd, uid, gid)
	if err := unix.Mount("art", dir, "fuse.art", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return &refusedError{fmt.Errorf("mount FUSE: %w", err)}
	}
	if err := control.Send(h.control, fd, control.Message{Kind: control.Mount, UID: uid, GID: gid}); err != nil {
		return fmt.Errorf("start art-fuse: it ended: %w", err)
	}
	return nil
}

// await waits for a message of art-fuse, if there is one in this session.
func (h *handles) await(p *Plan, want control.Kind) error {
	if p.FUSE == NoFUSE {
		return nil
	}
	return control.Await(h.control, want)
}
