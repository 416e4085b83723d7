package decode

import (
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// request is a request of ioctl(2): its name, and its argument in the words of package syscalls' table. Without one
// the argument is shown as a number, and - is none at all.
type request struct {
	number uint32
	name   string
	arg    string
}

// requests are those that ordinary programs make of terminals, files, devices and sockets. Their numbers are the same on
// both architectures (include/uapi/asm-generic/ioctls.h, linux/fs.h, linux/sockios.h and others). Where another driver has the
// same number, both names stand there, as in strace.
var requests = []request{
	// Terminals.
	{0x5401, "TCGETS", ">termios"}, {0x5402, "SNDCTL_TMR_START or TCSETS", "termios"}, {0x5403, "SNDCTL_TMR_STOP or TCSETSW", "termios"},
	{0x5404, "SNDCTL_TMR_CONTINUE or TCSETSF", "termios"}, {0x5405, "TCGETA", ">termio"}, {0x5406, "TCSETA", "termio"},
	{0x5407, "TCSETAW", "termio"}, {0x5408, "TCSETAF", "termio"}, {0x5409, "TCSBRK", "int"}, {0x540a, "TCXONC", "enum/tcxonc"},
	{0x540b, "TCFLSH", "enum/tcflsh"}, {0x540c, "TIOCEXCL", "-"}, {0x540d, "TIOCNXCL", "-"}, {0x540e, "TIOCSCTTY", "int"},
	{0x540f, "TIOCGPGRP", ">int_p"}, {0x5410, "TIOCSPGRP", "int_p"}, {0x5411, "TIOCOUTQ", ">int_p"}, {0x5412, "TIOCSTI", "buf_of/1"},
	{0x5413, "TIOCGWINSZ", ">struct/winsize"}, {0x5414, "TIOCSWINSZ", "struct/winsize"}, {0x5415, "TIOCMGET", ">flags_p/modem"},
	{0x5416, "TIOCMBIS", "flags_p/modem"}, {0x5417, "TIOCMBIC", "flags_p/modem"}, {0x5418, "TIOCMSET", "flags_p/modem"},
	{0x541b, "FIONREAD", ">int_p"}, {0x541d, "TIOCCONS", "-"}, {0x5420, "TIOCPKT", "int_p"}, {0x5422, "TIOCNOTTY", "-"},
	{0x5423, "TIOCSETD", "int_p"}, {0x5424, "TIOCGETD", ">int_p"}, {0x5425, "TCSBRKP", "int"}, {0x5429, "TIOCGSID", ">int_p"},
	{0x802c542a, "TCGETS2", ">termios2"}, {0x402c542b, "TCSETS2", "termios2"}, {0x402c542c, "TCSETSW2", "termios2"},
	{0x402c542d, "TCSETSF2", "termios2"}, {0x80045430, "TIOCGPTN", ">int_p"}, {0x40045431, "TIOCSPTLCK", "int_p"},
	{0x5441, "TIOCGPTPEER", "oflags"}, {0x5456, "TIOCGLCKTRMIOS", ">termios"}, {0x5457, "TIOCSLCKTRMIOS", "termios"},

	// Files.
	{0x5421, "FIONBIO", "int_p"}, {0x5450, "FIONCLEX", "-"}, {0x5451, "FIOCLEX", "-"}, {0x5452, "FIOASYNC", "int_p"},
	{0x5460, "FIOQSIZE", ""},
	{unix.FS_IOC_GETFLAGS, "FS_IOC_GETFLAGS", ">flags_p/inode"}, {unix.FS_IOC_SETFLAGS, "FS_IOC_SETFLAGS", "flags_p/inode"},
	{0x80046601, "FS_IOC32_GETFLAGS", ">flags_p/inode"}, {0x40046602, "FS_IOC32_SETFLAGS", "flags_p/inode"},
	{0x801c581f, "FS_IOC_FSGETXATTR", ">struct/fsxattr"}, {0x401c5820, "FS_IOC_FSSETXATTR", "struct/fsxattr_set"},
	{0xc0045877, "FIFREEZE", "-"}, {0xc0045878, "FITHAW", "-"}, {0xc0185879, "FITRIM", "struct/fstrim"},
	{unix.FICLONE, "FICLONE", "int"}, {unix.FICLONERANGE, "FICLONERANGE", ""}, {unix.FIDEDUPERANGE, "FIDEDUPERANGE", ""},
	{0x40044900, "INOTIFY_IOC_SETNEXTWD", "int"}, {0xb701, "NS_GET_USERNS", "-"}, {0xb702, "NS_GET_PARENT", "-"},
	{0xb703, "NS_GET_NSTYPE", "-"}, {0xb704, "NS_GET_OWNER_UID", ">id_p"},

	// Devices.
	{0x125d, "BLKROSET", "int_p"}, {0x125e, "BLKROGET", ">int_p"}, {0x125f, "BLKRRPART", "-"}, {0x1260, "BLKGETSIZE", ">ulong_p"},
	{0x1261, "BLKFLSBUF", "-"}, {0x1262, "BLKRASET", "ulong"}, {0x1263, "BLKRAGET", ">ulong_p"}, {0x1264, "BLKFRASET", "ulong"},
	{0x1265, "BLKFRAGET", ">ulong_p"}, {0x1268, "BLKSSZGET", ">int_p"}, {0x80081270, "BLKBSZGET", ">int_p"},
	{0x40081271, "BLKBSZSET", "int_p"}, {0x80081272, "BLKGETSIZE64", ">ulong_p"}, {0x1277, "BLKDISCARD", "range_p"},
	{0x80045200, "RNDGETENTCNT", ">int_p"}, {0x40045201, "RNDADDTOENTCNT", "int_p"}, {0x40085203, "RNDADDENTROPY", "entropy"},
	{0x5204, "FASTRPC_IOCTL_INIT_ATTACH or RNDZAPENTCNT", "-"}, {0x5206, "RNDCLEARPOOL", "-"}, {0x5207, "RNDRESEEDCRNG", "-"},

	// Sockets.
	{0x8901, "FIOSETOWN", "int_p"}, {0x8902, "SIOCSPGRP", "int_p"}, {0x8903, "FIOGETOWN", ">int_p"}, {0x8904, "SIOCGPGRP", ">int_p"},
	{0x8905, "SIOCATMARK", ">int_p"}, {unix.SIOCGIFCONF, "SIOCGIFCONF", ""}, {unix.SIOCGIFFLAGS, "SIOCGIFFLAGS", ""},
	{unix.SIOCGIFADDR, "SIOCGIFADDR", ""},
	{unix.SIOCGIFNETMASK, "SIOCGIFNETMASK", ""}, {unix.SIOCGIFMTU, "SIOCGIFMTU", ""}, {unix.SIOCGIFHWADDR, "SIOCGIFHWADDR", ""},
	{unix.SIOCGIFNAME, "SIOCGIFNAME", ""}, {unix.SIOCGIFINDEX, "SIOCGIFINDEX", ""}, {unix.SIOCETHTOOL, "SIOCETHTOOL", ""},
}

// known is a request whose argument has been read.
type known struct {
	name string
	arg  *argument // nil is none
}

// knownRequests are the requests by their numbers. The kinds of arguments refer to it, and it to them.
var knownRequests func() map[uint32]known

func init() { knownRequests = sync.OnceValue(readRequests) }

func readRequests() map[uint32]known {
	all := map[uint32]known{}
	for _, r := range requests {
		k := known{name: r.name}
		switch r.arg {
		case "-":
		case "":
			k.arg = &argument{kind: printHex}
		default:
			s, err := parseSignature(r.arg)
			if err != nil {
				panic(fmt.Errorf("argument of %s: %w", r.name, err)) // the table is part of the program, and a test reads it
			}
			k.arg = &s.args[0]
		}
		all[r.number] = k
	}
	return all
}

// printIoctl prints a request by name, or as the number that _IOC makes of its
// direction, type, number and size.
func printIoctl(p *printer, _ *argument, v uint64) bool {
	v = uint64(uint32(v))
	if r, ok := knownRequests()[uint32(v)]; ok {
		p.str(r.name)
		return true
	}
	direction := [...]string{"_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE"}[v>>30]
	p.str("_IOC(" + direction + ", " + hexText(v>>8&0xff) + ", " + hexText(v&0xff) + ", " + hexText(v>>16&0x3fff) + ")")
	return true
}

// hexText is what C's %#x makes of v.
func hexText(v uint64) string {
	if v == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(v, 16)
}

func printIoctlArg(p *printer, a *argument, v uint64) bool {
	r, ok := knownRequests()[uint32(p.call.Args[1])]
	switch {
	case !ok:
		p.hex(v)
	case r.arg == nil:
		return false
	default:
		of := *r.arg
		of.register = a.register
		return of.kind(p, &of, v)
	}
	return true
}

// ioctlResult names what one request returns.
func ioctlResult(p *printer, v int64) {
	const nsType = 0xb703 // NS_GET_NSTYPE
	p.dec(v)
	if set := rareFlags["setns"]; uint32(p.call.Args[1]) == nsType && set.has(uint32(v)) {
		p.str(" (")
		p.printName(set, uint64(v))
		p.str(")")
	}
}

// printFlagsP prints the flags that an argument points to.
func printFlagsP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 4); b != nil {
		p.str("[")
		p.printSet(a.flags, uint64(u32(b, 0)))
		p.str("]")
	}
	return true
}

func printUlongP(p *printer, a *argument, v uint64) bool { return printSizeP(p, a, v) }

// printRangeP prints where a part of a device begins, and how long it is.
func printRangeP(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 16); b != nil {
		p.str("[")
		p.udec(u64(b, 0))
		p.str(", ")
		p.udec(u64(b, 8))
		p.str("]")
	}
	return true
}

// printBufOf prints a buffer of a fixed length.
func printBufOf(p *printer, a *argument, v uint64) bool {
	p.bytes(v, uint64(a.number))
	return true
}

// printEntropy prints struct rand_pool_info (include/uapi/linux/random.h).
func printEntropy(p *printer, a *argument, v uint64) bool {
	if b := p.read(a, v, 8); b != nil {
		p.str("{entropy_count=")
		p.int32(b)
		p.str(", buf_size=")
		p.int32(b[4:])
		p.str(", buf=")
		p.bytes(v+8, uint64(u32(b, 4)))
		p.str("}")
	}
	return true
}
