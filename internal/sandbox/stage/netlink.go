package stage

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// netlink asks the kernel for changes of a network (rtnetlink(7)), until one fails.
type netlink struct {
	fd  int
	err error
}

// link brings an interface up, with an MTU unless that is 0, and without asking for addresses of links.
func (n *netlink) link(index, mtu uint32) {
	flags := uint32(unix.IFF_UP | unix.IFF_NOARP)
	if mtu == 0 {
		flags = unix.IFF_UP
	}
	body := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(body[4:], index)
	binary.NativeEndian.PutUint32(body[8:], flags)
	binary.NativeEndian.PutUint32(body[12:], flags)
	if mtu != 0 {
		body = attribute(body, unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, mtu))
	}
	n.request(unix.RTM_NEWLINK, 0, body)
}

// noLocalAddress has the kernel give an interface no address of the link's own (fe80::): it would do so up to a second later, and programs
// such as browsers take that for another network and give up what they have begun.
func (n *netlink) noLocalAddress(index uint32) {
	body := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(body[4:], index)
	mode := attribute(nil, unix.IFLA_INET6_ADDR_GEN_MODE, []byte{genModeNone})
	n.request(unix.RTM_NEWLINK, 0, attribute(body, unix.IFLA_AF_SPEC, attribute(nil, unix.AF_INET6, mode)))
	if errors.Is(n.err, unix.EAFNOSUPPORT) || errors.Is(n.err, unix.EOPNOTSUPP) { // there is no IPv6
		n.err = nil
	}
}

// genModeNone is IN6_ADDR_GEN_MODE_NONE (include/uapi/linux/if_link.h).
const genModeNone = 1

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
