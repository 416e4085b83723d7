package stage

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/hint"
)

// The guest's interface.
const (
	tunnelName = "art0"
	// TunnelMTU is as large as packets can be, for few of them, with what precedes them within 64 KiB.
	TunnelMTU = 65500
)

// TunDevice is what interfaces are made by. Where the caller may not open it, a pair of Ethernet devices takes its place.
const TunDevice = "/dev/net/tun"

// makeNetwork gives this thread, and so the guest, a network of its own, and sends art the other end of its only interface. What goes
// wrong leaves it without one.
func (h *handles) makeNetwork() error {
	fd, _, err := MakeNetwork()
	if err != nil {
		return cli.WithHint(fmt.Errorf("make a network for the guest: %w", err), hint.Host{}.Tun())
	}
	defer unix.Close(fd)
	// Where the kernel has no such sockets, nobody finds out whose connections are.
	if sockets, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG); err == nil {
		err = control.Send(h.link, sockets, control.Message{Kind: control.Sockets})
		unix.Close(sockets)
		if err != nil {
			return err
		}
	}
	return control.Send(h.link, fd, control.Message{Kind: control.Tunnel})
}

// MakeNetwork gives this thread a network of its own, and returns the other end of its only interface (control.TunnelFD), and by what
// that was made.
func MakeNetwork() (fd int, by string, err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return -1, "", err
	}
	by = TunDevice
	if fd, err = makeTun(); err != nil {
		tun := err
		by = "a pair of Ethernet devices"
		if fd, err = makePair(); err != nil {
			return -1, "", fmt.Errorf("%w, and %w", tun, err)
		}
	}
	if err = setUp(); err != nil {
		unix.Close(fd)
	}
	return fd, by, err
}

// makeTun makes the interface by TUN.
func makeTun() (fd int, err error) {
	// The device belongs to the network of who opens it (tun_chr_open in drivers/net/tun.c).
	if fd, err = unix.Open(TunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		return -1, fmt.Errorf("open %s: %w", TunDevice, err)
	}
	request, err := unix.NewIfreq(tunnelName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		// The guest's kernel need not take checksums.
		err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("make an interface by %s: %w", TunDevice, err)
	}
	return fd, nil
}

// setUp gives the interfaces of this network their addresses and routes. Where the host has no IPv6, the guest has none.
func setUp() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	tunnel, err := indexOf(tunnelName)
	if err != nil {
		return err
	}
	n := &netlink{fd: fd}
	n.link(1, 0) // the loopback interface, the first of each network
	n.noLocalAddress(tunnel)
	n.link(tunnel, TunnelMTU)
	n.address(tunnel, control.Guest4, control.Range4.Bits())
	n.route(tunnel, unix.AF_INET)
	if n.err != nil {
		return n.err
	}
	n.address(tunnel, control.Guest6, control.Range6.Bits())
	n.route(tunnel, unix.AF_INET6)
	for _, without := range []error{unix.EOPNOTSUPP, unix.EAFNOSUPPORT, unix.EACCES, unix.EPERM} {
		if errors.Is(n.err, without) {
			return nil
		}
	}
	return n.err
}

// indexOf returns the number of an interface.
func indexOf(name string) (uint32, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s)
	if err := unix.IoctlIfreq(s, unix.SIOCGIFINDEX, request); err != nil {
		return 0, err
	}
	return request.Uint32(), nil
}
