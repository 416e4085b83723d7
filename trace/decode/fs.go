package decode

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// openFlags prints the flags of open, whose lowest two bits are a number.
func (p *printer) openFlags(v uint64) {
	p.str([...]string{"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"}[v&unix.O_ACCMODE])
	if v &^= unix.O_ACCMODE; v != 0 {
		p.str("|")
		p.printSet(fileFlags["open"], v)
	}
}

func printOpenFlags(p *printer, _ *argument, v uint64) bool {
	p.openFlags(uint64(uint32(v)))
	return true
}

// printOpenMode prints the mode of an open that creates a file.
func printOpenMode(p *printer, a *argument, v uint64) bool {
	flags := p.call.Args[a.number]
	if flags&unix.O_CREAT == 0 && flags&unix.O_TMPFILE != unix.O_TMPFILE {
		return false
	}
	return printMode(p, a, v)
}

func printOpenHow(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 24)
	if b == nil {
		return true
	}
	p.str("{flags=")
	p.openFlags(u64(b, 0))
	if mode := u64(b, 8); mode != 0 {
		p.str(", mode=")
		p.mode(uint32(mode))
	}
	p.str(", resolve=")
	p.hex(u64(b, 16))
	p.str("}")
	return true
}

func (p *printer) device(v uint64) {
	p.str("makedev(")
	p.hex(uint64(unix.Major(v)))
	p.str(", ")
	p.hex(uint64(unix.Minor(v)))
	p.str(")")
}

// printStat prints what strace prints of a struct stat: the mode, and the size,
// or the device of a device file.
func printStat(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, statSize)
	if b == nil {
		return true
	}
	mode := u32(b, statMode)
	p.str("{st_mode=")
	p.fileMode(mode)
	if kind := mode & unix.S_IFMT; kind == unix.S_IFCHR || kind == unix.S_IFBLK {
		p.str(", st_rdev=")
		p.device(u64(b, statRdev))
	} else {
		p.str(", st_size=")
		p.dec(int64(u64(b, statBytes)))
	}
	p.str(", ...}")
	return true
}

// printStatx prints the members of struct statx (include/uapi/linux/stat.h) that
// strace prints.
func printStatx(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 256)
	if b == nil {
		return true
	}
	p.str("{stx_mask=")
	p.printSet(fileFlags["statx"], uint64(u32(b, 0)))
	p.str(", stx_attributes=")
	p.hex(u64(b, 8))
	p.str(", stx_mode=")
	p.fileMode(uint32(order.Uint16(b[28:])))
	p.str(", stx_size=")
	p.udec(u64(b, 40))
	p.str(", ...}")
	return true
}

// printStatxFlags prints flags in which two bits are a number.
func printStatxFlags(p *printer, a *argument, v uint64) bool {
	const sync = unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC
	v = uint64(uint32(v))
	if v&sync == sync {
		p.str("AT_STATX_FORCE_SYNC|AT_STATX_DONT_SYNC")
	} else {
		p.printName(a.flags, v&sync)
	}
	if v &^= sync; v != 0 {
		p.str("|")
		p.printSet(fileFlags["at"], v)
	}
	return true
}

// printStatfs prints struct statfs, which begins with longs on both architectures.
func printStatfs(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 120)
	if b == nil {
		return true
	}
	p.str("{f_type=")
	p.name(statfsTypes, u64(b, 0), "0x"+strconv.FormatUint(u64(b, 0), 16))
	for i, member := range []string{"f_bsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree"} {
		p.str(", " + member + "=")
		p.udec(u64(b, 8*(i+1)))
	}
	p.str(", f_fsid={val=[")
	p.hex(uint64(u32(b, 56)))
	p.str(", ")
	p.hex(uint64(u32(b, 60)))
	p.str("]}, f_namelen=")
	p.udec(u64(b, 64))
	p.str(", f_frsize=")
	p.udec(u64(b, 72))
	p.str(", f_flags=")
	p.printSet(fileFlags["statfs"], u64(b, 80))
	p.str("}")
	return true
}

var statfsTypes = &flagSet{"???_MAGIC", []flag{
	{unix.EXT4_SUPER_MAGIC, "EXT2_SUPER_MAGIC"}, {unix.TMPFS_MAGIC, "TMPFS_MAGIC"},
	{unix.PROC_SUPER_MAGIC, "PROC_SUPER_MAGIC"}, {unix.SYSFS_MAGIC, "SYSFS_MAGIC"},
	{unix.OVERLAYFS_SUPER_MAGIC, "OVERLAYFS_SUPER_MAGIC"}, {unix.FUSE_SUPER_MAGIC, "FUSE_SUPER_MAGIC"},
	{unix.XFS_SUPER_MAGIC, "XFS_SUPER_MAGIC"}, {unix.BTRFS_SUPER_MAGIC, "BTRFS_SUPER_MAGIC"},
	{unix.SELINUX_MAGIC, "SELINUX_MAGIC"}, {unix.CGROUP2_SUPER_MAGIC, "CGROUP2_SUPER_MAGIC"},
}}

// printDirents prints the address and the number of entries, as strace does.
func printDirents(p *printer, a *argument, v uint64) bool {
	p.addr(v)
	if p.call.Failed {
		return true
	}
	b := make([]byte, min(max(p.call.Ret, 0), 1<<20))
	n := 0
	got := b[:p.call.Mem.Read(v, b)]
	for len(got) >= 19 {
		size := int(order.Uint16(got[16:])) // d_reclen, of both formats
		if size < 19 || size > len(got) {
			break
		}
		got = got[size:]
		n++
	}
	p.str(" /* ")
	p.dec(int64(n))
	p.str(" entries */")
	return true
}
