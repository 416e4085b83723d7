// Package hint knows what to do about a host that refuses what a sandbox needs. Its
// answers are for people, in one line, with the commands to run.
package hint

import (
	"fmt"
	"os"
	"strings"
)

// Host is a machine that is looked at through its files.
type Host struct {
	// Root is the directory that its paths are below; "" is this machine's own.
	Root string
}

// Read returns the text of a file, without the white space around it, and "" if there
// is no such file or none that may be read.
func (h Host) Read(path string) string {
	text, _ := os.ReadFile(h.Root + path)
	return strings.TrimSpace(string(text))
}

// Exists says whether there is such a file.
func (h Host) Exists(path string) bool {
	_, err := os.Stat(h.Root + path)
	return err == nil
}

// Container returns the name of what the machine is a container of, or "".
func (h Host) Container() string {
	switch {
	case h.Exists("/.dockerenv"):
		return "docker"
	case h.Exists("/run/.containerenv"):
		return "podman"
	}
	// https://systemd.io/CONTAINER_INTERFACE/
	return h.Read("/run/systemd/container")
}

// Namespaces returns what to do where this program cannot make user namespaces, or gets
// no rights in them.
func (h Host) Namespaces() string {
	switch {
	case h.Read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor lets only programs with a profile use user namespaces: " + appArmorProfile()
	case h.Read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return "run `sudo sysctl kernel.unprivileged_userns_clone=1`"
	case h.Read("/proc/sys/user/max_user_namespaces") == "0":
		return "run `sudo sysctl user.max_user_namespaces=15000`"
	case h.Container() != "":
		return "start the container so that it may use user namespaces (docker, podman: --security-opt seccomp=unconfined --security-opt apparmor=unconfined)"
	}
	return "user namespaces are not available here: see user_namespaces(7); a container's runtime has to allow them"
}

// appArmorProfile returns the command that gives this program a profile which restricts
// nothing and names user namespaces, as Ubuntu has them for browsers. What it executes
// stays in the profile, bubblewrap too, unless that has one of its own.
func appArmorProfile() string {
	const file = "/etc/apparmor.d/art"
	program, err := os.Executable()
	if err != nil {
		program = "/usr/local/bin/art" // where make install puts it
	}
	return fmt.Sprintf("run `printf 'abi <abi/4.0>,\\nprofile art \"%s\" flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee %s && sudo apparmor_parser -r %[2]s`", program, file)
}

// Proc returns what to do where the guest's own /proc cannot be mounted: the kernel
// lets nobody see more by a new one than by the old ones (mount_too_revealing in
// fs/namespace.c).
func Proc() string {
	return "the /proc here is partly hidden, as it is in containers and sandboxes; in a container, show all of it (docker: --security-opt systempaths=unconfined)"
}

// FUSE returns what to do where FUSE can be mounted neither in a user namespace nor by
// fusermount3, which is there or not.
func (h Host) FUSE(fusermount bool) string {
	switch {
	case !h.Exists("/dev/fuse"):
		return "there is no /dev/fuse: load the module with `sudo modprobe fuse`; in a container, add the device (docker: --device /dev/fuse)"
	case !fusermount:
		return "run `sudo chmod 0666 /dev/fuse`, or install fuse3 (`sudo apt-get install fuse3`)"
	}
	return "run `sudo chmod 0666 /dev/fuse`"
}

// Tun returns what to do where this user cannot make a TUN device.
func (h Host) Tun() string {
	const device = "/dev/net/tun"
	switch {
	case h.Container() != "" && !h.Exists(device):
		return "start the container with the device (docker, podman: --device " + device + ")"
	case !h.Exists(device):
		return "run `sudo modprobe tun`"
	}
	return "run `sudo chmod 0666 " + device + "`, which is how udev has it: what one can do with it takes rights over a network"
}
