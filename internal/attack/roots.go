package attack

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// What the host's root may do to files for nothing but its id, without any capability.
func roots() []Attempt {
	return area("what is root's", []Attempt{
		{Name: "own what root owns", Needs: Root, try: func(*Target) error {
			return any([]string{"/", "/etc", "/usr", "/dev/null", "/proc/version", "/sys/kernel"}, func(path string) error {
				var st unix.Stat_t
				if err := unix.Stat(path, &st); err != nil {
					return err
				}
				return found(int(st.Uid) == os.Getuid())
			})
		}},
		{Name: "see how the kernel uses its memory", Needs: Root, try: func(*Target) error {
			return any([]string{"/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo"}, read)
		}},
		{Name: "see what pages of memory are used for", Needs: Host, try: func(*Target) error {
			return any([]string{"/proc/kpageflags", "/proc/kpagecount", "/proc/kpagecgroup"}, func(path string) error {
				f, err := os.Open(path)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.Read(make([]byte, 8)) // fs/proc/page.c: whole entries
				return err
			})
		}},
		{Name: "see the kernel's caches and modules", Needs: Host, try: func(*Target) error {
			return any(glob("/sys/kernel/slab/*/objects", "/sys/module/*/sections/.text"), read)
		}},
		{Name: "keep the package manager waiting", Needs: Host, try: func(*Target) error {
			return any([]string{"/var/lib/dpkg/lock", "/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock", "/var/lib/rpm/.rpm.lock"}, lock)
		}},
		{Name: "keep changes of accounts waiting", Needs: Host, try: func(*Target) error { return lock("/etc/.pwd.lock") }},
	})
}

// lock succeeds with a lock on a file that is opened for reading, which keeps away who wants it for
// writing (fcntl(2)). Who has one already is as good.
func lock(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // which takes it back
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
	if errors.Is(err, unix.EAGAIN) {
		return nil
	}
	return err
}
