package decode

import "golang.org/x/sys/unix"

// mountMagic once told a mount with flags from one without (MS_MGC_VAL in include/uapi/linux/mount.h).
const (
	mountMagic     = 0xc0ed0000
	mountMagicMask = 0xffff0000
)

// What mount takes no type and no data for.
const (
	mountWithoutBoth = unix.MS_BIND | unix.MS_MOVE | unix.MS_SHARED | unix.MS_PRIVATE | unix.MS_SLAVE | unix.MS_UNBINDABLE
)

func (p *printer) mountFlags() uint64 {
	flags := p.call.Args[3]
	if flags&mountMagicMask == mountMagic {
		flags &^= mountMagicMask
	}
	return flags
}

func printMountFlags(p *printer, _ *argument, v uint64) bool {
	if v&mountMagicMask == mountMagic {
		p.str("MS_MGC_VAL")
		if v &^= mountMagicMask; v == 0 {
			return true
		}
		p.str("|")
	}
	p.printSet(fileFlags["mount"], v)
	return true
}

func printMountType(p *printer, _ *argument, v uint64) bool {
	if flags := p.mountFlags(); flags&(unix.MS_REMOUNT|mountWithoutBoth) != 0 {
		p.addr(v)
	} else {
		p.cstring(v, p.stringLimit())
	}
	return true
}

func printMountData(p *printer, _ *argument, v uint64) bool {
	if flags := p.mountFlags(); flags&unix.MS_REMOUNT == 0 && flags&mountWithoutBoth != 0 {
		p.addr(v)
	} else {
		p.cstring(v, p.stringLimit())
	}
	return true
}

// printMountAttr prints struct mount_attr (include/uapi/linux/mount.h).
func printMountAttr(p *printer, a *argument, v uint64) bool {
	if n := p.call.Args[a.number]; n < 32 {
		p.addr(v)
		return true
	}
	b := p.read(a, v, 32)
	if b == nil {
		return true
	}
	p.str("{attr_set=")
	p.printSet(rareFlags["mount_attr"], u64(b, 0))
	p.str(", attr_clr=")
	p.printSet(rareFlags["mount_attr"], u64(b, 8))
	p.str(", propagation=")
	p.printLongName(rareFlags["propagation"], u64(b, 16))
	p.str(", userns_fd=")
	if fd := u64(b, 24); u64(b, 0)&unix.MOUNT_ATTR_IDMAP != 0 {
		p.fd(int32(fd))
	} else {
		p.udec(fd)
	}
	p.tail(v, 32, p.call.Args[a.number])
	p.str("}")
	return true
}

// printFsconfigKey and printFsconfigValue print what fsconfig takes behind its command.
func printFsconfigKey(p *printer, _ *argument, v uint64) bool {
	if uint32(p.call.Args[1]) > 5 { // the commands from FSCONFIG_CMD_CREATE on have none
		p.addr(v)
	} else {
		p.field(v, 256)
	}
	return true
}

func printFsconfigValue(p *printer, _ *argument, v uint64) bool {
	switch uint32(p.call.Args[1]) {
	case 1:
		p.field(v, 256)
	case 2:
		p.binary(v, int32(p.call.Args[4]))
	case 3, 4:
		p.cstring(v, maxPath)
	default:
		p.addr(v)
	}
	return true
}

// binary prints a value of n bytes as numbers.
func (p *printer) binary(v uint64, n int32) {
	const most = 1 << 20 // as the kernel takes (fsconfig in fs/fsopen.c)
	if n < 0 || n > most {
		p.addr(v)
		return
	}
	shown := min(int(n), p.stringLimit())
	b := p.peek(v, shown)
	if b == nil {
		p.addr(v)
		return
	}
	p.hexString(b)
	if shown < int(n) {
		p.str("...")
	}
}

func printFsconfigAux(p *printer, a *argument, v uint64) bool {
	switch uint32(p.call.Args[1]) {
	case 3, 4:
		return printDirfd(p, a, v)
	case 5:
		return printFd(p, a, v)
	}
	return printInt(p, a, v)
}

// printLandlockRuleset prints struct landlock_ruleset_attr, of which older programs give the
// beginning.
func printLandlockRuleset(p *printer, a *argument, v uint64) bool {
	size := p.call.Args[a.number]
	b := make([]byte, min(size, 24))
	if b = b[:p.call.Mem.Read(v, b)]; len(b) < 8 {
		p.addr(v)
		return true
	}
	p.str("{handled_access_fs=")
	p.printSet(rareFlags["landlock_fs"], u64(b, 0))
	if len(b) >= 16 {
		p.str(", handled_access_net=")
		p.printSet(rareFlags["landlock_net"], u64(b, 8))
	}
	if len(b) >= 24 {
		p.str(", scoped=")
		p.printSet(rareFlags["landlock_scope"], u64(b, 16))
	}
	if size > uint64(len(b)&^7) {
		p.str(", ...")
	}
	p.str("}")
	return true
}

// printLandlockRule prints what a rule of landlock_add_rule is.
func printLandlockRule(p *printer, a *argument, v uint64) bool {
	const beneath, port = 1, 2
	switch uint32(p.call.Args[1]) {
	case beneath:
		if b := p.read(a, v, 12); b != nil {
			p.str("{allowed_access=")
			p.printSet(rareFlags["landlock_fs"], u64(b, 0))
			p.str(", parent_fd=")
			p.fdElement(b[8:])
			p.str("}")
		}
	case port:
		if b := p.read(a, v, 16); b != nil {
			p.str("{allowed_access=")
			p.printSet(rareFlags["landlock_net"], u64(b, 0))
			p.str(", port=")
			p.udec(u64(b, 8))
			p.str("}")
		}
	default:
		p.addr(v)
	}
	return true
}

// printIoprio prints a class and a priority within it.
func printIoprio(p *printer, _ *argument, v uint64) bool {
	p.ioprio(uint32(v))
	return true
}

func (p *printer) ioprio(v uint32) {
	const shift = 13 // IOPRIO_CLASS_SHIFT in include/uapi/linux/ioprio.h
	p.str("IOPRIO_PRIO_VALUE(")
	p.printName(rareFlags["ioprio_class"], uint64(v>>shift))
	p.str(", ")
	p.udec(uint64(v & (1<<shift - 1)))
	p.str(")")
}
