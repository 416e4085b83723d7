package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/hint"
)

// The guest's interface, and the addresses of the two ends of it: the other one is art-net's.
const (
	tunnelName = "art0"
	// TunnelMTU is as large as packets can be, for few of them.
	TunnelMTU = 65520
)

// TunDevice is what interfaces are made by.
const TunDevice = "/dev/net/tun"

// makeNetwork gives this thread, and so the guest, a network of its own, and sends art the other end of its only interface. What goes
// wrong leaves it without one.
func (h *handles) makeNetwork() error {
	fail := func(err error) error { return fmt.Errorf("make a network for the guest: %w", err) }
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fail(err)
	}
	// After that, as the device belongs to the network of who opens it (tun_chr_open in drivers/net/tun.c).
	fd, err := unix.Open(TunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return cli.WithHint(fail(fmt.Errorf("open %s: %w", TunDevice, err)), hint.Host{}.Tun())
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(tunnelName)
	if err != nil {
		return fail(err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return cli.WithHint(fail(fmt.Errorf("make an interface: %w", err)), hint.Host{}.Tun())
	}
	if err := setUp(); err != nil {
		return fail(err)
	}
	return control.Send(h.link, fd, control.Message{Kind: control.Tunnel})
}

// setUp gives the interfaces of this network their addresses and routes. Where the host has no IPv6, the guest has none.
func setUp() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(tunnelName)
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.IoctlIfreq(s, unix.SIOCGIFINDEX, request); err != nil {
		return err
	}
	n := &netlink{fd: fd}
	tunnel := request.Uint32()
	n.link(1, 0) // the loopback interface, the first of each network
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

// netlink asks the kernel for changes of a network (rtnetlink(7)), until one fails.
type netlink struct {
	fd  int
	err error
}

// link brings an interface up, with an MTU unless that is 0.
func (n *netlink) link(index, mtu uint32) {
	body := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(body[4:], index)
	binary.NativeEndian.PutUint32(body[8:], unix.IFF_UP)
	binary.NativeEndian.PutUint32(body[12:], unix.IFF_UP)
	if mtu != 0 {
		body = attribute(body, unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, mtu))
	}
	n.request(unix.RTM_NEWLINK, 0, body)
}

func (n *netlink) address(index uint32, a netip.Addr, bits int) {
	// Nobody else can have the address.
	body := []byte{family(a), byte(bits), unix.IFA_F_NODAD, unix.RT_SCOPE_UNIVERSE}
	body = binary.NativeEndian.AppendUint32(body, index)
	body = attribute(body, unix.IFA_LOCAL, a.AsSlice())
	n.request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, attribute(body, unix.IFA_ADDRESS, a.AsSlice()))
}

// route has all packets of a family leave by an interface.
func (n *netlink) route(index uint32, family byte) {
	body := []byte{family, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0}
	n.request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, attribute(body, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, index)))
}

func family(a netip.Addr) byte {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// attribute appends one to a request, with room up to where the next may begin.
func attribute(body []byte, kind uint16, value []byte) []byte {
	body = binary.NativeEndian.AppendUint16(body, uint16(unix.SizeofRtAttr+len(value)))
	body = append(binary.NativeEndian.AppendUint16(body, kind), value...)
	for len(body)%unix.RTA_ALIGNTO != 0 {
		body = append(body, 0)
	}
	return body
}

// request makes one, and waits for the answer.
func (n *netlink) request(kind, flags uint16, body []byte) {
	if n.err != nil {
		return
	}
	head := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	head = binary.NativeEndian.AppendUint16(head, kind)
	head = binary.NativeEndian.AppendUint16(head, unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
	head = binary.NativeEndian.AppendUint64(head, 0) // number and sender
	if n.err = unix.Sendto(n.fd, append(head, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); n.err != nil {
		return
	}
	answer := make([]byte, 4096)
	size, _, err := unix.Recvfrom(n.fd, answer, 0)
	switch {
	case err != nil:
		n.err = err
	case size < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR:
		n.err = errors.New("the kernel answered something else")
	default:
		if errno := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); errno != 0 {
			n.err = unix.Errno(-errno)
		}
	}
}
