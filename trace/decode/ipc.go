package decode

// System V's shared memory, semaphores and messages (include/uapi/asm-generic/ipcbuf.h, linux/shm.h, sem.h and msg.h).

const (
	ipcSet  = 1
	ipcStat = 2
	ipcInfo = 3
	ipc64   = 0x100 // IPC_64, which some C libraries add to a command
)

// printKey prints the key of an object.
func printKey(p *printer, _ *argument, v uint64) bool {
	if uint32(v) == 0 {
		p.str("IPC_PRIVATE")
	} else {
		p.hex(uint64(uint32(v)))
	}
	return true
}

// printIPCFlags prints flags, and the permissions below them.
func printIPCFlags(p *printer, a *argument, v uint64) bool {
	const permissions, hugeAt, hugeMask = 0o777, 26, 63
	v = uint64(uint32(v))
	flags, size := v&^permissions, uint64(0)
	if p.call.Name == "shmget" { // has the size of a page there, as mmap has
		size = flags >> hugeAt & hugeMask
		flags &^= hugeMask << hugeAt
	}
	if flags&a.flags.all() != 0 {
		p.printSet(a.flags, flags)
		p.str("|")
	} else if flags != 0 {
		p.hex(flags)
		p.str("|")
	}
	if size != 0 {
		p.udec(size)
		p.str("<<SHM_HUGE_SHIFT|")
	}
	p.mode(uint32(v & permissions))
	return true
}

// printIPCCommand prints a command of shmctl, semctl or msgctl.
func printIPCCommand(p *printer, a *argument, v uint64) bool {
	if v&ipc64 != 0 {
		p.str("IPC_64|")
	}
	p.printName(a.flags, v&^ipc64)
	return true
}

// ipcStructures are what commands fill in or take, by the call and the command.
var ipcStructures = map[string]map[uint32]string{
	"shmctl": {ipcStat: "shmid_ds", 13: "shmid_ds", 15: "shmid_ds", ipcSet: "shmid_set", ipcInfo: "shminfo", 14: "shm_info"},
	"semctl": {ipcStat: "semid_ds", 18: "semid_ds", 20: "semid_ds", ipcSet: "semid_set", ipcInfo: "seminfo", 19: "seminfo"},
	"msgctl": {ipcStat: "msqid_ds", 11: "msqid_ds", 13: "msqid_ds", ipcSet: "msqid_set", ipcInfo: "msginfo", 12: "msginfo"},
}

// printIPCArg prints the argument of a command that a.number is.
func printIPCArg(p *printer, a *argument, v uint64) bool {
	command := uint32(p.call.Args[a.number]) &^ ipc64
	s := structures[ipcStructures[p.call.Name][command]]
	if s == nil {
		p.addr(v)
		return true
	}
	of := *a
	of.structure, of.output = s, command != ipcSet
	return printStructure(p, &of, v)
}

// printMessage prints struct msgbuf: a type, and as many bytes as the argument a.number says, or the call has received.
func printMessage(p *printer, a *argument, v uint64) bool {
	n := p.call.Args[a.number]
	if a.output {
		n = uint64(p.call.Ret)
	}
	if b := p.read(a, v, 8); b != nil {
		p.str("{mtype=")
		p.dec(int64(u64(b, 0)))
		p.str(", mtext=")
		p.bytes(v+8, n)
		p.str("}")
	}
	return true
}

// permissionsOf is the member for the owner and the permissions of an object, all or what IPC_SET changes of them.
func permissionsOf(name string, all bool) member {
	return member{name, 0, func(p *printer, b []byte) {
		p.str("{uid=")
		p.idElement(b[4:])
		p.str(", gid=")
		p.idElement(b[8:])
		p.str(", mode=")
		p.mode(u32(b, 20))
		if all {
			p.str(", key=")
			p.udec(uint64(u32(b, 0)))
			p.str(", cuid=")
			p.idElement(b[12:])
			p.str(", cgid=")
			p.idElement(b[16:])
		}
		p.str("}")
	}}
}
