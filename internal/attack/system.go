package attack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func system() []Attempt {
	return area("files and devices of the host", []Attempt{
		{Name: "write into a directory of the system", Needs: Root, try: func(*Target) error {
			return any([]string{"/", "/etc", "/usr", "/usr/bin", "/var", "/opt", "/boot", "/srv", "/mnt", "/lib", "/root", "/sys"}, func(dir string) error {
				path := own(dir)
				return made(path, os.WriteFile(path, nil, 0o600))
			})
		}},
		{Name: "write a file of the system", Needs: Root, try: func(*Target) error { return writable("/etc/hosts") }},
		{Name: "change the mode of a file of the system", Needs: Root, try: func(*Target) error {
			info, err := os.Stat("/etc/hosts")
			if err != nil {
				return err
			}
			return os.Chmod("/etc/hosts", info.Mode()) // to what it is
		}},
		{Name: "choose what handles crashes", Needs: Root, try: func(*Target) error { return writable("/proc/sys/kernel/core_pattern") }},
		{Name: "change the kernel's settings", Needs: Root, try: func(*Target) error {
			// Others in kernel/ are of the guest's own namespaces.
			return any(append(glob("/proc/sys/vm/*", "/proc/sys/fs/*"), "/proc/sys/kernel/modprobe", "/proc/sys/kernel/panic", "/proc/sys/kernel/hostname"), writable)
		}},
		{Name: "press the system request key", Needs: Host, try: func(*Target) error { return writable("/proc/sysrq-trigger") }},
		{Name: "change the kernel's settings in /sys", Needs: Root, try: func(*Target) error {
			return any(glob("/sys/kernel/*", "/sys/kernel/mm/*/*", "/sys/module/*/parameters/*"), writable)
		}},
		{Name: "choose what handles the end of a control group", Needs: Host, try: func(*Target) error {
			return any(glob("/sys/fs/cgroup/*/release_agent", "/sys/fs/cgroup/release_agent"), writable)
		}},
		{Name: "make a control group", Needs: Host, try: func(*Target) error {
			return any(glob("/sys/fs/cgroup", "/sys/fs/cgroup/*/"), func(dir string) error {
				path := own(dir)
				return made(path, os.Mkdir(path, 0o700))
			})
		}},
		{Name: "end a FUSE mount by its control files", Needs: Host, try: func(*Target) error {
			return any(glob("/sys/fs/fuse/connections/*/*"), writable)
		}},
		{Name: "trace the kernel", Needs: Host, try: func(*Target) error {
			return any([]string{"/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker"}, writable)
		}},
		{Name: "read the kernel's memory", Needs: Host, try: func(*Target) error { return read("/proc/kcore") }},
		{Name: "see addresses in the kernel", Needs: Host, try: addresses},
		{Name: "read the kernel's messages from a device", Needs: Root, try: func(*Target) error { return openWith("/dev/kmsg", unix.O_RDONLY) }},
		{Name: "read a disk", Needs: Host, try: disks},
		{Name: "open the device of FUSE", Needs: Root, try: func(*Target) error { return openWith("/dev/fuse", unix.O_RDWR) }},
		{Name: "see other devices", Needs: Host, try: func(*Target) error {
			return any([]string{"/dev/mem", "/dev/port", "/dev/kvm", "/dev/vsock", "/dev/uinput", "/dev/loop-control", "/dev/mapper/control"}, func(path string) error {
				_, err := os.Stat(path)
				return err
			})
		}},
		{Name: "make a device", Needs: Root, try: func(*Target) error {
			path := own(".")
			return made(path, unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))))
		}},
	})
}

// addresses succeeds if the kernel does not hide where its functions are, as it does
// from most (kptr_restrict in proc(5)): then they are all zero.
func addresses(*Target) error {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return err
	}
	defer f.Close()
	address := make([]byte, 16)
	if _, err := f.Read(address); err != nil {
		return err
	}
	return found(string(address) != "0000000000000000")
}

func disks(*Target) error {
	result := errors.New("there is none")
	err := filepath.WalkDir("/dev", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeDevice != 0 && d.Type()&os.ModeCharDevice == 0 {
			if result = openWith(path, unix.O_RDONLY); result == nil {
				return filepath.SkipAll
			}
		}
		return nil
	})
	return errors.Join(err, result)
}
