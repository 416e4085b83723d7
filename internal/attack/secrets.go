package attack

import (
	"os"
	"path/filepath"
)

func secrets() []Attempt {
	return area("secrets of the host", []Attempt{
		{Name: "look into the caller's home", try: func(t *Target) error {
			_, err := os.Lstat(t.home)
			return err
		}},
		{Name: "look into root's home", Needs: Host, try: func(*Target) error { return list("/root") }},
		{Name: "read the passwords", Needs: Root, try: func(*Target) error { return read("/etc/shadow") }},
		{Name: "read the passwords through /proc", Needs: Root, try: func(*Target) error { return read("/proc/self/root/etc/shadow") }},
		{Name: "read the groups' passwords", Needs: Root, try: func(*Target) error { return read("/etc/gshadow") }},
		{Name: "read the host's ssh keys", Needs: Host, try: func(*Target) error { return any(glob("/etc/ssh/ssh_host_*_key"), read) }},
		{Name: "look where private keys and copies are kept", Needs: Host, try: func(*Target) error {
			return any([]string{"/etc/ssl/private", "/var/backups", "/var/lib/private"}, list)
		}},
		{Name: "read the answers given to installers", Needs: Host, try: func(*Target) error {
			return any([]string{"/var/cache/debconf/passwords.dat", "/var/log/apt/term.log"}, read)
		}},
		{Name: "read mail", Needs: Host, try: func(*Target) error { return any([]string{"/var/mail", "/var/spool/mail"}, list) }},
		{Name: "read what crashes have left", Needs: Host, try: func(*Target) error {
			return any([]string{"/var/crash", "/var/lib/systemd/coredump", "/var/lib/apport/coredump", "/var/spool/abrt", "/cores"}, list)
		}},
		// Where namespaces are allowed, a user's guest has all of /proc.
		{Name: "see when the processors are interrupted", Option: namespaces, try: func(*Target) error { return read("/proc/interrupts") }},
		{Name: "see whose keys there are", Needs: Host, Option: namespaces, try: func(*Target) error { return read("/proc/keys") }},
		{Name: "see the kernel's timers", Needs: Root, Option: namespaces, try: func(*Target) error { return read("/proc/timer_list") }},
		{Name: "see the tables of the firmware", Needs: Host, try: func(*Target) error { return list("/sys/firmware") }},
		{Name: "measure the power that the processors take", Needs: Host, try: func(*Target) error {
			return any(glob("/sys/devices/virtual/powercap/*/*/energy_uj", "/sys/devices/system/cpu/cpu*/thermal_throttle/*"), read)
		}},
		{Name: "read the database", Only: Overlay, try: func(t *Target) error { return openWith(filepath.Join(t.dir, database), os.O_RDONLY) }},
		{Name: "find a descriptor of the database", try: func(*Target) error {
			return any(glob("/proc/[0-9]*/fd/*"), func(path string) error {
				name, err := os.Readlink(path)
				if err != nil {
					return err
				}
				return found(filepath.Base(name) == database)
			})
		}},
	})
}
