package attack

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// namespaces is the option that allows namespaces.
const namespaces = "namespaces"

func calls() []Attempt {
	return area("calls of the kernel", slices.Concat(namespaceCalls(), otherCalls()))
}

// namespaceCalls make namespaces, and mounts in them or without.
func namespaceCalls() []Attempt {
	return []Attempt{
		{Name: "make a user namespace by unshare", Option: namespaces, try: func(t *Target) error {
			return t.sub("nothing", &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWUSER})
		}},
		{Name: "make a user namespace by clone", Option: namespaces, try: func(t *Target) error {
			return t.sub("nothing", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER})
		}},
		{Name: "make a user namespace by clone3", Option: namespaces, try: clone3},
		{Name: "mount in a user namespace", Needs: Host, Option: namespaces, try: func(t *Target) error {
			return t.sub("mount", asRoot(unix.CLONE_NEWUSER|unix.CLONE_NEWNS))
		}},
		{Name: "have every right in a network namespace", Needs: Host, Option: namespaces, try: func(t *Target) error {
			return t.sub("network", asRoot(unix.CLONE_NEWUSER|unix.CLONE_NEWNET))
		}},
		{Name: "mount", Needs: Root, try: func(t *Target) error {
			return t.sub("mount", &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS})
		}},
		{Name: "make the root writable", Needs: Root, try: func(t *Target) error {
			return t.sub("remount", &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS})
		}},
		{Name: "remount without a namespace", Needs: Root, try: func(*Target) error {
			// There is no such mount, which the kernel only says to those who may mount.
			return refusedOnly(unix.Mount("none", "/proc/self", "", unix.MS_REMOUNT|unix.MS_BIND, ""), unix.EINVAL)
		}},
		{Name: "mount by fsopen", Needs: Root, try: func(*Target) error {
			fd, err := unix.Fsopen("tmpfs", 0)
			return closed(fd, err)
		}},
		{Name: "clone a mount", Needs: Root, try: func(*Target) error {
			fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
			return closed(fd, err)
		}},
		{Name: "change the root", Needs: Root, try: func(*Target) error { return unix.Chroot("/usr") }},
		{Name: "join a namespace", Needs: Root, try: func(*Target) error {
			fd, err := unix.Open("/proc/self/ns/ipc", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			return unix.Setns(fd, 0)
		}},
		{Name: "open a file by its handle", Needs: Root, try: openByHandle},
	}
}

// otherCalls are calls that a guest has no use for, or not with these arguments.
func otherCalls() []Attempt {
	return []Attempt{
		{Name: "use io_uring", Needs: Host, Option: "io_uring", try: func(*Target) error {
			var params [120]byte
			return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
		}},
		{Name: "load a map of bpf", Needs: Host, try: func(*Target) error {
			attr := [20]uint32{2, 4, 4, 1} // an array with one element
			return call(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		}},
		{Name: "count the kernel's events", Needs: Host, Option: "perf", try: func(*Target) error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
			fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
			return closed(fd, err)
		}},
		{Name: "handle page faults", Needs: Host, Option: "userfaultfd", try: func(*Target) error {
			return call(unix.SYS_USERFAULTFD, 1) // UFFD_USER_MODE_ONLY
		}},
		{Name: "use the caller's keyring", Needs: Host, Option: "keys", try: func(*Target) error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
			return err
		}},
		{Name: "add a key", Needs: Host, Option: "keys", try: func(*Target) error {
			_, err := unix.AddKey("user", "art", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{Name: "read the kernel's messages", Needs: Host, try: func(*Target) error {
			_, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 4096))
			return err
		}},
		{Name: "make a socket of virtual machines", Needs: Host, Option: "sockets", try: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{Name: "make a socket of the kernel's ciphers", Needs: Host, Option: "sockets", try: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{Name: "make a socket for whole packets", Needs: Root, try: socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{Name: "make a raw socket", Needs: Root, try: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{Name: "put input into the terminal", Needs: Host, try: input(unix.TIOCSTI)},
		// The kernel takes the lower half of the number alone.
		{Name: "put input into the terminal by another number", Needs: Host, try: input(0xdead<<32 | unix.TIOCSTI)},
		{Name: "load a module", Needs: Host, try: loadModule},
		{Name: "end swapping", Needs: Root, try: func(*Target) error {
			path := []byte("/proc/self/art-attack\x00")
			return refusedOnly(call(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(&path[0]))), unix.ENOENT)
		}},
	}
}

// subs are what attempts start in namespaces of their own.
func subs() map[string]func() error {
	return map[string]func() error{
		"nothing":    func() error { return nil },
		"mount":      func() error { return mount("/tmp", "tmpfs", 0) },
		"remount":    func() error { return mount("/", "", unix.MS_REMOUNT|unix.MS_BIND) },
		"network":    configure,
		"capability": func() error { return onFile(giveCapability)(nil) },
		"overlay":    copyUp,
	}
}

// mount mounts in this process's own namespace, where no other sees it.
func mount(target, kind string, flags uintptr) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("none", target, kind, flags, "")
}

// configure brings up the loopback interface of this process's own network.
func configure() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

func (t *Target) sub(name string, attr *syscall.SysProcAttr) error {
	return start(t.path, attr, roleSub, name)
}

// asRoot are attributes of a process that is root in its new namespaces.
func asRoot(flags uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// clone3 makes a process that ends at once.
func clone3(*Target) error {
	args := [8]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)} // struct clone_args
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		// A copy of one thread of Go's: it may do nothing but calls.
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

func closed(fd int, err error) error {
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func socket(domain, kind, protocol int) func(*Target) error {
	return func(*Target) error {
		fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
		return closed(fd, err)
	}
}

// input types into a terminal what whoever reads from it next takes for the user's.
func input(command uintptr) func(*Target) error {
	return func(*Target) error {
		return withTerminal(func(fd uintptr) error {
			c := byte('x')
			return call(unix.SYS_IOCTL, fd, command, uintptr(unsafe.Pointer(&c)))
		})
	}
}

// withTerminal makes a terminal this process's own.
func withTerminal(try func(fd uintptr) error) error {
	signal.Ignore(unix.SIGHUP) // which its end sends
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer master.Close()
	defer slave.Close()
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TIOCSCTTY, 0); err != nil {
		return err
	}
	return try(slave.Fd())
}

// openByHandle opens a directory by what name_to_handle_at(2) says of it.
func openByHandle(*Target) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open("/usr", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	return closed(fd, err)
}

// loadModule has the kernel load what is no module, which it only says to those who may load one.
func loadModule(*Target) error {
	fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// It is none, which the kernel only says to those who may load one.
	return refusedOnly(unix.FinitModule(fd, "", 0), unix.ENOEXEC)
}
