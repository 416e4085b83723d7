package attack

import "golang.org/x/sys/unix"

// anySocket is the option that allows every family and protocol.
const anySocket = "sockets"

// protocols are of families that a guest has otherwise. Some lead past what restricts a network by
// ports, others observe the machine or configure it.
func protocols() []Attempt {
	return area("protocols of sockets", []Attempt{
		{Name: "connect by several paths (MPTCP)", Needs: Host, Option: anySocket, try: socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)},
		{Name: "the same by another number", Needs: Host, Option: anySocket, try: func(*Target) error {
			// The kernel takes the lower half alone.
			return opened(unix.AF_INET, unix.SOCK_STREAM, 0xdead<<32|unix.IPPROTO_MPTCP)
		}},
		{Name: "the same without blocking", Needs: Host, Option: anySocket, try: socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, unix.IPPROTO_MPTCP)},
		{Name: "send by UDP-Lite", Needs: Host, Option: anySocket, try: socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)},
		{Name: "send by UDP-Lite and IPv6", Needs: Host, Option: anySocket, try: socket(unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)},
		{Name: "connect by SCTP", Needs: Host, Option: anySocket, try: socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)},
		{Name: "send by SCTP", Needs: Host, Option: anySocket, try: socket(unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP)},
		{Name: "put another protocol over TCP", Needs: Host, Option: anySocket, try: func(*Target) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			put := func(name string) error { return unix.SetsockoptString(fd, unix.SOL_TCP, unix.TCP_ULP, name) }
			// Without a connection, or for nobody but the kernel: it only says so where it knows the protocol.
			if refusedOnly(put("tls"), unix.ENOTCONN) == nil {
				return nil
			}
			return refusedOnly(put("mptcp"), unix.EOPNOTSUPP)
		}},
		{Name: "make a raw socket of IPv6", Needs: Root, Option: anySocket, try: socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6)},
		{Name: "make a socket for whole packets of the old kind", Needs: Root, Option: anySocket, try: socket(unix.AF_INET, unix.SOCK_PACKET, 0x0300)},
		{Name: "ask the kernel's parts (generic netlink)", Option: anySocket, try: netlink(unix.NETLINK_GENERIC)},
		{Name: "listen for devices (uevent)", Option: anySocket, try: netlink(unix.NETLINK_KOBJECT_UEVENT)},
		{Name: "list all sockets (sock_diag)", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_SOCK_DIAG)},
		{Name: "speak to the audit", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_AUDIT)},
		{Name: "configure the packet filter", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_NETFILTER)},
		{Name: "configure IPsec (xfrm)", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_XFRM)},
		{Name: "configure the kernel's ciphers", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_CRYPTO)},
		{Name: "watch processes (connector)", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_CONNECTOR)},
		{Name: "hear of SELinux", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_SELINUX)},
		{Name: "look up routes by netlink", Needs: Host, Option: anySocket, try: netlink(unix.NETLINK_FIB_LOOKUP)},
	})
}

func netlink(protocol int) func(*Target) error {
	return socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol)
}

// opened makes a socket by the call itself, with all bits of its arguments.
func opened(domain, kind, protocol uintptr) error {
	fd, _, errno := unix.Syscall(unix.SYS_SOCKET, domain, kind, protocol)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}
