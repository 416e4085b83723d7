package stage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// otherName is the end of a pair of Ethernet devices that the guest does not have.
const otherName = "art1"

// makePair makes the interface without TUN: one of a pair of Ethernet devices. The other is in a network that is nobody's, where a
// packet socket takes and gives all frames, and which ends with that socket.
func makePair() (fd int, err error) {
	fail := func(what string, err error) (int, error) { return -1, fmt.Errorf("%s: %w", what, err) }
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail("find the network", err)
	}
	defer unix.Close(own)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fail("make a second network", err)
	}
	defer func() {
		if e := unix.Setns(own, unix.CLONE_NEWNET); e != nil {
			unix.Close(fd)
			fd, err = fail("go back to the network", e)
		}
	}()
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fail("make a pair of Ethernet devices", err)
	}
	defer unix.Close(s)
	n := &netlink{fd: s}
	n.pair(own)
	if n.err != nil {
		return fail("make a pair of Ethernet devices", n.err)
	}
	index, err := indexOf(otherName)
	if err != nil {
		return fail("make a pair of Ethernet devices", err)
	}
	n.noLocalAddress(index)
	if n.link(index, TunnelMTU); n.err != nil {
		return fail("make a pair of Ethernet devices", n.err)
	}
	if fd, err = packetSocket(int(index)); err != nil {
		return fail("take frames", err)
	}
	return fd, nil
}

// otherIndex is the number of the end that the guest does not have. Were it that of the guest's, as it would be by itself, the kernel would
// take them for one device, and say only a second later that the link is there (linkwatch_urgent_event in net/core/link_watch.c).
const otherIndex = 3

// vethInfoPeer is the attribute for the other one of a pair (include/uapi/linux/veth.h).
const vethInfoPeer = 1

// pair makes a pair of Ethernet devices, of which one belongs to the network that is open as guest.
func (n *netlink) pair(guest int) {
	device := func(name string) []byte {
		body := attribute(make([]byte, unix.SizeofIfInfomsg), unix.IFLA_IFNAME, append([]byte(name), 0))
		return attribute(body, unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, TunnelMTU))
	}
	other := device(otherName)
	binary.NativeEndian.PutUint32(other[4:], otherIndex)
	peer := attribute(device(tunnelName), unix.IFLA_ADDRESS, control.GuestLink[:])
	peer = attribute(peer, unix.IFLA_NET_NS_FD, binary.NativeEndian.AppendUint32(nil, uint32(guest)))
	info := attribute(nil, unix.IFLA_INFO_KIND, []byte("veth"))
	info = attribute(info, unix.IFLA_INFO_DATA, attribute(nil, vethInfoPeer, peer))
	n.request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, attribute(other, unix.IFLA_LINKINFO, info))
}

// packetSocket returns a socket for all frames of an Ethernet device.
func packetSocket(index int) (fd int, err error) {
	// Of no protocol before it is bound, so that none comes from elsewhere.
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return -1, err
	}
	for _, option := range []struct{ level, name, value int }{
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1}, {unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		// Up to what the host allows.
		{unix.SOL_SOCKET, unix.SO_RCVBUF, 16 << 20}, {unix.SOL_SOCKET, unix.SO_SNDBUF, 16 << 20},
	} {
		err = errors.Join(err, unix.SetsockoptInt(fd, option.level, option.name, option.value))
	}
	if err == nil {
		all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index, Protocol: all})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
