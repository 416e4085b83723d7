package trace

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

var (
	_ decode.Endpoints = (*process)(nil)
	_ decode.Protocols = (*process)(nil)
	_ decode.Processes = (*process)(nil)
)

// borrow calls f with a copy of a tracee's descriptor.
func (p *process) borrow(fd int, f func(fd int)) {
	group, err := strconv.Atoi(statusField(int(*p), "Tgid"))
	if err != nil {
		return
	}
	pidfd, err := unix.PidfdOpen(group, 0)
	if err != nil {
		return
	}
	defer unix.Close(pidfd)
	copied, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return
	}
	defer unix.Close(copied)
	f(copied)
}

// Family implements decode.Sockets.
func (p *process) Family(fd int) (family int, ok bool) {
	p.borrow(fd, func(fd int) {
		var err error
		family, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
		ok = err == nil
	})
	return family, ok
}

// Protocol implements decode.Protocols.
func (p *process) Protocol(fd int) (protocol int) {
	p.borrow(fd, func(fd int) { protocol, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL) })
	return protocol
}

// Endpoint implements decode.Endpoints.
func (p *process) Endpoint(fd int) (text string) {
	p.borrow(fd, func(fd int) { text = endpoint(fd) })
	return text
}

// Device implements decode.Endpoints.
func (p *process) Device(fd int) string {
	info, err := os.Stat("/proc/" + strconv.Itoa(int(*p)) + "/fd/" + strconv.Itoa(fd))
	if err != nil || info.Mode()&os.ModeDevice == 0 {
		return ""
	}
	kind := "block"
	if info.Mode()&os.ModeCharDevice != 0 {
		kind = "char"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %d:%d", kind, unix.Major(stat.Rdev), unix.Minor(stat.Rdev))
}

// Process implements decode.Processes.
func (p *process) Process(fd int) int {
	info, err := os.ReadFile("/proc/" + strconv.Itoa(int(*p)) + "/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(info)) {
		if pid, ok := strings.CutPrefix(line, "Pid:"); ok { // proc_pid_fdinfo(5)
			n, _ := strconv.Atoi(strings.TrimSpace(pid))
			return n
		}
	}
	return 0
}

// transports are the names of the protocols of the Internet, as strace has them.
var transports = map[int]string{
	unix.IPPROTO_TCP: "TCP", unix.IPPROTO_UDP: "UDP", unix.IPPROTO_UDPLITE: "UDPLITE", unix.IPPROTO_SCTP: "SCTP",
	unix.IPPROTO_MPTCP: "MPTCP", unix.IPPROTO_ICMP: "ICMP", unix.IPPROTO_ICMPV6: "ICMP", unix.IPPROTO_RAW: "RAW",
}

// endpoint describes a socket of this process.
func endpoint(fd int) string {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return ""
	}
	local, _ := unix.Getsockname(fd)
	remote, _ := unix.Getpeername(fd) // fails for one that is not connected
	switch family {
	case unix.AF_INET, unix.AF_INET6:
		protocol, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		name := transports[protocol]
		if name == "" {
			return ""
		}
		if family == unix.AF_INET6 {
			name += "v6"
		}
		text := name + ":[" + internet(local)
		if remote != nil {
			text += "->" + internet(remote)
		}
		return text + "]"
	case unix.AF_UNIX:
		kind, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
		text := map[int]string{unix.SOCK_STREAM: "UNIX-STREAM", unix.SOCK_DGRAM: "UNIX-DGRAM", unix.SOCK_SEQPACKET: "UNIX-SEQPACKET"}[kind]
		var stat unix.Stat_t
		if text == "" || unix.Fstat(fd, &stat) != nil {
			return ""
		}
		text += fmt.Sprintf(":[%d", stat.Ino)
		for _, address := range []unix.Sockaddr{local, remote} {
			if u, ok := address.(*unix.SockaddrUnix); ok && u.Name != "" && u.Name != "@" { // as x/sys has one without a name
				text += "," + decode.Quote([]byte(u.Name))
			}
		}
		return text + "]"
	case unix.AF_NETLINK:
		protocol, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		var stat unix.Stat_t
		if n, ok := local.(*unix.SockaddrNetlink); ok && n.Pid != 0 {
			return fmt.Sprintf("NETLINK:[%s:%d]", decode.NetlinkProtocol(protocol), n.Pid)
		} else if unix.Fstat(fd, &stat) == nil {
			return fmt.Sprintf("NETLINK:[%d]", stat.Ino)
		}
	}
	return ""
}

// internet is an address of the Internet as people write it.
func internet(address unix.Sockaddr) string {
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		return fmt.Sprintf("[%s]:%d", netip.AddrFrom16(a.Addr), a.Port)
	}
	return ""
}
