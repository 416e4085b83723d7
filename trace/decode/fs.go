package decode

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// openFlags prints the flags of open, whose lowest two bits are a number.
func (p *printer) openFlags(v uint64) {
	p.str([...]string{"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"}[v&unix.O_ACCMODE])
	if v &^= unix.O_ACCMODE; v != 0 {
		p.str("|")
		if v&fileFlags["open"].all() == 0 {
			p.hex(v)
		} else {
			p.printSet(fileFlags["open"], v)
		}
	}
}

func printOpenFlags(p *printer, _ *argument, v uint64) bool {
	p.openFlags(uint64(uint32(v)))
	return true
}

// printOpenMode prints the mode of an open that creates a file.
func printOpenMode(p *printer, a *argument, v uint64) bool {
	flags := p.call.Args[a.number]
	if flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0 {
		return false
	}
	return printMode(p, a, v)
}

func printOpenHow(p *printer, a *argument, v uint64) bool {
	if p.call.Args[a.number] < 24 {
		p.addr(v)
		return true
	}
	b := p.read(a, v, 24)
	if b == nil {
		return true
	}
	p.str("{flags=")
	p.openFlags(u64(b, 0))
	if mode := u64(b, 8); mode != 0 || u64(b, 0)&unix.O_CREAT != 0 || u64(b, 0)&unix.O_TMPFILE == unix.O_TMPFILE {
		p.str(", mode=")
		p.longMode(mode)
	}
	p.str(", resolve=")
	p.printSet(rareFlags["resolve"], u64(b, 16))
	p.tail(v, 24, p.call.Args[a.number])
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
	if p.call.Whole {
		p.wholeStat(b, mode)
		return true
	}
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

// wholeStat prints all members of struct stat; only how many bytes they are apart differs
// between architectures.
func (p *printer) wholeStat(b []byte, mode uint32) {
	p.str("{st_dev=")
	p.device(u64(b, 0))
	p.str(", st_ino=")
	p.udec(u64(b, 8))
	p.str(", st_mode=")
	p.fileMode(mode)
	p.str(", st_nlink=")
	p.udec(statLinks(b))
	p.str(", st_uid=")
	p.idElement(b[statUID:])
	p.str(", st_gid=")
	p.idElement(b[statUID+4:])
	p.str(", st_blksize=")
	p.udec(statBlockSize(b))
	p.str(", st_blocks=")
	p.udec(u64(b, statBlocks))
	if kind := mode & unix.S_IFMT; kind == unix.S_IFCHR || kind == unix.S_IFBLK {
		p.str(", st_rdev=")
		p.device(u64(b, statRdev))
	} else {
		p.str(", st_size=")
		p.dec(int64(u64(b, statBytes)))
	}
	for i, name := range []string{"st_atime", "st_mtime", "st_ctime"} {
		sec, nsec := int64(u64(b, statTimes+16*i)), u64(b, statTimes+16*i+8)
		p.str(", " + name + "=")
		p.dec(sec)
		p.date(sec, int64(nsec))
		if nsec != 0 {
			p.str(", " + name + "_nsec=")
			p.udec(nsec)
		}
	}
	p.str("}")
}

// wholeStatx is wholeStat for struct statx.
func (p *printer) wholeStatx(b []byte) {
	p.str("{stx_mask=")
	p.printSet(fileFlags["statx"], uint64(u32(b, 0)))
	p.str(", stx_blksize=")
	p.udec(uint64(u32(b, 4)))
	p.str(", stx_attributes=")
	p.printSet(fileFlags["statx_attr"], u64(b, 8))
	p.str(", stx_nlink=")
	p.udec(uint64(u32(b, 16)))
	p.str(", stx_uid=")
	p.idElement(b[20:])
	p.str(", stx_gid=")
	p.idElement(b[24:])
	p.str(", stx_mode=")
	p.fileMode(uint32(order.Uint16(b[28:])))
	for i, name := range []string{"stx_ino", "stx_size", "stx_blocks"} {
		p.str(", " + name + "=")
		p.udec(u64(b, 32+8*i))
	}
	p.str(", stx_attributes_mask=")
	p.printSet(fileFlags["statx_attr"], u64(b, 56))
	for i, name := range []string{"stx_atime", "stx_btime", "stx_ctime", "stx_mtime"} {
		sec, nsec := int64(u64(b, 64+16*i)), u32(b, 72+16*i)
		p.str(", " + name + "={tv_sec=")
		p.dec(sec)
		p.str(", tv_nsec=")
		p.udec(uint64(nsec))
		p.str("}")
		p.date(sec, int64(nsec))
	}
	for i, name := range []string{"stx_rdev_major", "stx_rdev_minor", "stx_dev_major", "stx_dev_minor"} {
		p.str(", " + name + "=")
		p.udec(uint64(u32(b, 128+4*i)))
	}
	p.str(", stx_mnt_id=")
	p.hex(u64(b, 144))
	p.str("}")
}

// printStatx prints the members of struct statx (include/uapi/linux/stat.h) that
// strace prints.
func printStatx(p *printer, a *argument, v uint64) bool {
	b := p.read(a, v, 256)
	if b == nil {
		return true
	}
	if p.call.Whole {
		p.wholeStatx(b)
		return true
	}
	p.str("{stx_mask=")
	p.printSet(fileFlags["statx"], uint64(u32(b, 0)))
	p.str(", stx_attributes=")
	p.printSet(fileFlags["statx_attr"], u64(b, 8))
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
	if p.call.Failed {
		p.addr(v)
		return true
	}
	if p.call.Whole {
		p.wholeDirents(v)
		return true
	}
	p.addr(v)
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

// wholeDirents prints the entries of a directory, in the format of either call.
func (p *printer) wholeDirents(v uint64) {
	old := p.call.Name == "getdents" // its type is the last byte of an entry
	b := p.peek(v, int(min(max(p.call.Ret, 0), 1<<20)))
	p.str("[")
	for i := 0; len(b) >= 19; i++ {
		size := int(order.Uint16(b[16:]))
		if size < 19 || size > len(b) {
			break
		}
		if i > 0 {
			p.str(", ")
		}
		kind, name := b[18], b[19:size]
		if old {
			kind, name = b[size-1], b[18:size-1]
		}
		name, _, _ = bytes.Cut(name, []byte{0})
		p.str("{d_ino=")
		p.udec(u64(b, 0))
		p.str(", d_off=")
		p.udec(u64(b, 8))
		p.str(", d_reclen=")
		p.udec(uint64(size))
		if old {
			p.str(", d_name=")
			p.quote(name)
		}
		p.str(", d_type=")
		p.printName(fileFlags["dirent"], uint64(kind))
		if !old {
			p.str(", d_name=")
			p.quote(name)
		}
		p.str("}")
		b = b[size:]
	}
	p.str("]")
}
