package decode

// struct stat: arch/x86/include/uapi/asm/stat.h.
const (
	statSize  = 144
	statMode  = 24
	statRdev  = 40
	statBytes = 48
)

// The registers of clone's last two arguments (clone(2), "C library/kernel differences").
const (
	cloneChildTid = 3
	cloneTLS      = 4
)

// struct epoll_event is packed here (include/uapi/linux/eventpoll.h, EPOLL_PACKED).
const (
	epollEventSize = 12
	epollData      = 4
)

// largeFile is O_LARGEFILE, which the kernel sets in every open file's flags
// (include/uapi/asm-generic/fcntl.h); for 64-bit programs the constant of libc is 0.
const largeFile = 0o100000

// What else is in struct stat there: its owner, its blocks and its times.
const (
	statUID    = 28
	statBlocks = 64
	statTimes  = 72
)

func statLinks(b []byte) uint64     { return u64(b, 16) }
func statBlockSize(b []byte) uint64 { return u64(b, 56) }

// signalMaskAt is where struct ucontext has its mask, from the stack pointer on when a handler of signals returns.
const signalMaskAt = 8 + 8 + 24 + 256

// struct semid64_ds.
const (
	semCtime  = 64
	semNsems  = 80
	semidSize = 104
)
