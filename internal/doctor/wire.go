package doctor

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uringParameter is there from Linux 6.14 on, with CONFIG_FUSE_IO_URING, and N unless somebody sets it
// (fs/fuse/dev_uring.c).
const uringParameter = "/sys/module/fuse/parameters/enable_uring"

// wire reports how the kernel and art-fuse exchange requests of overlays.
func (h *host) wire() Finding {
	f := Finding{What: "FUSE requests", Says: "over io_uring"}
	slow := func(why, fix string) Finding {
		f.State, f.Says, f.Fix = Note, "over /dev/fuse, which is slower than io_uring: "+why, fix
		return f
	}
	switch value := h.Read(uringParameter); {
	case value == "N":
		return slow(uringParameter+" is N", h.enableUring())
	case value != "Y" && h.olderThan(6, 14):
		return slow("the kernel is older than 6.14", "use Linux 6.14 or newer")
	case value != "Y":
		return slow("there is no "+uringParameter, "use a kernel with CONFIG_FUSE_IO_URING=y")
	}
	if err := h.ring(); err != nil {
		if h.Container() != "" {
			return slow(err.Error(), "have the container's runtime allow io_uring (its filter of system calls refuses it)")
		}
		return slow(err.Error(), "run `"+h.sudo("sysctl kernel.io_uring_disabled=0")+"`, if nobody has set it on purpose")
	}
	return f
}

// enableUring returns what sets the parameter, now and when the machine starts. A module has it from modprobe.d(5), since
// it may be loaded after systemd-tmpfiles(8) has run; one that is built into the kernel has no state.
func (h *host) enableUring() string {
	now := "echo Y | " + h.sudo("tee "+uringParameter)
	var command string
	switch module := h.Exists("/sys/module/fuse/initstate"); {
	case h.bootSet():
		return "start the machine again, since art's settings for that are installed, or run `" + now + "`"
	case module:
		command = "echo options fuse enable_uring=1 | " + h.sudo("tee /etc/modprobe.d/art.conf") + " && " + now
	default:
		command = "echo w- " + uringParameter + " - - - - Y | " + h.sudo("tee /etc/tmpfiles.d/art.conf") + " | " + h.sudo("systemd-tmpfiles --create -")
	}
	if h.Container() != "" {
		return "on the host that the container runs on, run `" + command + "`"
	}
	return "run `" + command + "`, now and for each start of the machine"
}

// bootSet says whether the machine sets the parameter when it starts, as it does with a package of art.
func (h *host) bootSet() bool {
	for _, dir := range []string{"/etc", "/usr/local/lib", "/usr/lib"} {
		if h.Exists(dir + "/tmpfiles.d/art.conf") {
			return true
		}
	}
	return false
}

// ring makes an io_uring and closes it. Settings of the kernel and filters of a container may refuse it.
func ring() error {
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return fmt.Errorf("make an io_uring: %w", errno)
	}
	return unix.Close(int(fd))
}
