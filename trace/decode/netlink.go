package decode

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Protocols says which protocol a tracee's sockets have. Files may have it.
type Protocols interface {
	// Protocol returns the number of a socket's protocol, which means something within
	// its family only.
	Protocol(fd int) int
}

// NetlinkProtocol returns the name of a protocol of netlink without the prefix that all have, or its number.
func NetlinkProtocol(protocol int) string {
	for _, f := range networkFlags["netlink"].flags {
		if f.value == int64(protocol) {
			return strings.TrimPrefix(f.name, "NETLINK_")
		}
	}
	return strconv.Itoa(protocol)
}

// netlinkTypes are the messages of the protocols that programs meet, and those of all.
var netlinkTypes = map[int]*flagSet{
	unix.NETLINK_ROUTE: {"RTM_???", []flag{ // include/uapi/linux/rtnetlink.h
		{16, "RTM_NEWLINK"}, {17, "RTM_DELLINK"}, {18, "RTM_GETLINK"}, {19, "RTM_SETLINK"}, {20, "RTM_NEWADDR"},
		{21, "RTM_DELADDR"}, {22, "RTM_GETADDR"}, {24, "RTM_NEWROUTE"}, {25, "RTM_DELROUTE"}, {26, "RTM_GETROUTE"},
		{28, "RTM_NEWNEIGH"}, {29, "RTM_DELNEIGH"}, {30, "RTM_GETNEIGH"}, {32, "RTM_NEWRULE"}, {33, "RTM_DELRULE"},
		{34, "RTM_GETRULE"}, {36, "RTM_NEWQDISC"}, {37, "RTM_DELQDISC"}, {38, "RTM_GETQDISC"}, {40, "RTM_NEWTCLASS"},
		{41, "RTM_DELTCLASS"}, {42, "RTM_GETTCLASS"}, {44, "RTM_NEWTFILTER"}, {45, "RTM_DELTFILTER"}, {46, "RTM_GETTFILTER"},
		{48, "RTM_NEWACTION"}, {49, "RTM_DELACTION"}, {50, "RTM_GETACTION"}, {52, "RTM_NEWPREFIX"}, {58, "RTM_GETMULTICAST"},
		{62, "RTM_GETANYCAST"}, {64, "RTM_NEWNEIGHTBL"}, {66, "RTM_GETNEIGHTBL"}, {67, "RTM_SETNEIGHTBL"},
		{68, "RTM_NEWNDUSEROPT"}, {72, "RTM_NEWADDRLABEL"}, {73, "RTM_DELADDRLABEL"}, {74, "RTM_GETADDRLABEL"}, {78, "RTM_GETDCB"},
		{79, "RTM_SETDCB"}, {80, "RTM_NEWNETCONF"}, {81, "RTM_DELNETCONF"}, {82, "RTM_GETNETCONF"}, {84, "RTM_NEWMDB"},
		{85, "RTM_DELMDB"}, {86, "RTM_GETMDB"}, {88, "RTM_NEWNSID"}, {89, "RTM_DELNSID"}, {90, "RTM_GETNSID"},
		{92, "RTM_NEWSTATS"}, {94, "RTM_GETSTATS"}, {95, "RTM_SETSTATS"}, {96, "RTM_NEWCACHEREPORT"}, {100, "RTM_NEWCHAIN"},
		{101, "RTM_DELCHAIN"}, {102, "RTM_GETCHAIN"}, {104, "RTM_NEWNEXTHOP"}, {105, "RTM_DELNEXTHOP"}, {106, "RTM_GETNEXTHOP"},
		{108, "RTM_NEWLINKPROP"}, {109, "RTM_DELLINKPROP"}, {110, "RTM_GETLINKPROP"}, {112, "RTM_NEWVLAN"}, {113, "RTM_DELVLAN"},
		{114, "RTM_GETVLAN"}, {116, "RTM_NEWNEXTHOPBUCKET"}, {117, "RTM_DELNEXTHOPBUCKET"}, {118, "RTM_GETNEXTHOPBUCKET"},
		{120, "RTM_NEWTUNNEL"}, {121, "RTM_DELTUNNEL"}, {122, "RTM_GETTUNNEL"},
	}},
	unix.NETLINK_SOCK_DIAG: {"SOCK_DIAG_???", []flag{{20, "SOCK_DIAG_BY_FAMILY"}, {21, "SOCK_DESTROY"}}},
	-1: {"NLMSG_???", []flag{
		{unix.NLMSG_NOOP, "NLMSG_NOOP"}, {unix.NLMSG_ERROR, "NLMSG_ERROR"}, {unix.NLMSG_DONE, "NLMSG_DONE"}, {unix.NLMSG_OVERRUN, "NLMSG_OVERRUN"},
	}},
}

var netlinkFlags = []flag{
	{unix.NLM_F_REQUEST, "NLM_F_REQUEST"}, {unix.NLM_F_MULTI, "NLM_F_MULTI"}, {unix.NLM_F_ACK, "NLM_F_ACK"}, {unix.NLM_F_ECHO, "NLM_F_ECHO"},
	{unix.NLM_F_DUMP_INTR, "NLM_F_DUMP_INTR"}, {unix.NLM_F_DUMP_FILTERED, "NLM_F_DUMP_FILTERED"},
}

// What flags mean depends on what a message asks for (include/uapi/linux/netlink.h).
var (
	netlinkGet = &flagSet{"NLM_F_???", append(netlinkFlags[:len(netlinkFlags):len(netlinkFlags)],
		flag{unix.NLM_F_DUMP, "NLM_F_DUMP"}, flag{unix.NLM_F_ROOT, "NLM_F_ROOT"}, flag{unix.NLM_F_MATCH, "NLM_F_MATCH"}, flag{unix.NLM_F_ATOMIC, "NLM_F_ATOMIC"})}
	netlinkDel = &flagSet{"NLM_F_???", append(netlinkFlags[:len(netlinkFlags):len(netlinkFlags)],
		flag{unix.NLM_F_NONREC, "NLM_F_NONREC"}, flag{unix.NLM_F_BULK, "NLM_F_BULK"})}
	netlinkNew = &flagSet{"NLM_F_???", append(netlinkFlags[:len(netlinkFlags):len(netlinkFlags)],
		flag{unix.NLM_F_REPLACE, "NLM_F_REPLACE"}, flag{unix.NLM_F_EXCL, "NLM_F_EXCL"}, flag{unix.NLM_F_CREATE, "NLM_F_CREATE"}, flag{unix.NLM_F_APPEND, "NLM_F_APPEND"})}
)

// toNetlink reports whether the n bytes at addr, which are sent to nowhere in particular, go to netlink. To ask for the socket
// costs several calls: it is done for what looks like a message alone.
func (p *printer) toNetlink(addr, n uint64) bool {
	if n < unix.NLMSG_HDRLEN {
		return false
	}
	b := p.peek(addr, 4)
	if b == nil || u32(b, 0) < unix.NLMSG_HDRLEN || uint64(u32(b, 0)) > n {
		return false
	}
	s, ok := p.call.Files.(Sockets)
	if !ok {
		return false
	}
	family, ok := s.Family(int(int32(p.call.Args[0])))
	return ok && family == unix.AF_NETLINK
}

// isNetlink reports whether an address of n bytes at addr is one of netlink.
func (p *printer) isNetlink(addr, n uint64) bool {
	b := p.peek(addr, 2)
	return n >= 2 && b != nil && order.Uint16(b) == unix.AF_NETLINK
}

// netlink prints the messages of netlink in n bytes at addr.
func (p *printer) netlink(addr, n uint64) {
	const most = 1 << 16
	b := p.peek(addr, int(min(n, most)))
	if b == nil || len(b) < unix.NLMSG_HDRLEN {
		p.bytes(addr, n)
		return
	}
	protocol := -1
	if f, ok := p.call.Files.(Protocols); ok {
		protocol = f.Protocol(int(int32(p.call.Args[0])))
	}
	// One message stands by itself, several are a list.
	several := len(b) >= int(u32(b, 0)+3)&^3+unix.NLMSG_HDRLEN && u32(b, 0) >= unix.NLMSG_HDRLEN
	if several {
		p.str("[")
	}
	for i := uint64(0); len(b) >= unix.NLMSG_HDRLEN; i++ {
		if i > 0 {
			p.str(", ")
		}
		if i == p.elements() {
			p.str("...")
			break
		}
		size := int(u32(b, 0))
		p.netlinkMessage(protocol, b[:min(max(size, unix.NLMSG_HDRLEN), len(b))])
		if size < unix.NLMSG_HDRLEN {
			break
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	if several {
		p.str("]")
	}
}

func (p *printer) netlinkMessage(protocol int, b []byte) {
	kind, flags, body := order.Uint16(b[4:]), order.Uint16(b[6:]), b[unix.NLMSG_HDRLEN:]
	if len(body) > 0 {
		p.str("[")
	}
	p.str("{nlmsg_len=")
	p.udec(uint64(u32(b, 0)))
	p.str(", nlmsg_type=")
	set := netlinkTypes[protocol]
	if set == nil || netlinkTypes[-1].has(uint32(kind)) {
		set = netlinkTypes[-1]
	}
	p.printName(set, uint64(kind))
	p.str(", nlmsg_flags=")
	// Of routes and the like, the lowest two bits of a type say what is done: new, del, get, set.
	const doing, del, get = 3, 1, 2
	meanings := netlinkGet
	if protocol == unix.NETLINK_ROUTE && kind >= unix.RTM_BASE && kind&doing != get {
		meanings = netlinkNew
		if kind&doing == del {
			meanings = netlinkDel
		}
	}
	p.printSet(meanings, uint64(flags))
	p.str(", nlmsg_seq=")
	p.udec(uint64(u32(b, 8)))
	p.str(", nlmsg_pid=")
	p.dec(int64(int32(u32(b, 12))))
	p.str("}")
	if len(body) == 0 {
		return
	}
	p.str(", ")
	p.netlinkBody(protocol, kind, body)
	p.str("]")
}

// netlinkBody prints what follows the header: an error, the family that a request is about, or bytes.
func (p *printer) netlinkBody(protocol int, kind uint16, b []byte) {
	switch {
	case kind == unix.NLMSG_ERROR && len(b) >= 4:
		p.str("{error=")
		if errno := -int32(u32(b, 0)); errno == 0 {
			p.str("0")
		} else if name := errnoName(unix.Errno(errno)); errno > 0 && name != "" {
			p.str("-" + name)
		} else {
			p.int32(b)
		}
		if len(b) >= 4+unix.NLMSG_HDRLEN {
			p.str(", msg=")
			p.netlinkMessage(protocol, b[4:4+unix.NLMSG_HDRLEN])
		}
		p.str("}")
	case kind == unix.NLMSG_DONE && len(b) == 4:
		p.int32(b)
	case protocol == unix.NETLINK_ROUTE && netlinkFamilies[kind] != "":
		p.str("{" + netlinkFamilies[kind] + "=")
		p.printName(networkFlags["af"], uint64(b[0]))
		p.str(", ...}")
	case protocol == unix.NETLINK_ROUTE && kind >= unix.RTM_BASE && len(b) == 1:
		p.str("{family=")
		p.printName(networkFlags["af"], uint64(b[0]))
		p.str("}")
	default:
		p.hexString(b[:min(len(b), p.stringLimit())])
		if len(b) > p.stringLimit() {
			p.str("...")
		}
	}
}

// netlinkFamilies are the requests that begin with a family, with the name of that member.
var netlinkFamilies = map[uint16]string{
	unix.RTM_GETADDR: "ifa_family", unix.RTM_GETLINK: "ifi_family", unix.RTM_GETROUTE: "rtm_family", unix.RTM_GETNEIGH: "ndm_family",
	unix.RTM_NEWADDR: "ifa_family", unix.RTM_NEWLINK: "ifi_family", unix.RTM_NEWROUTE: "rtm_family", unix.RTM_NEWNEIGH: "ndm_family",
}
