package decode

// struct stat: include/uapi/asm-generic/stat.h.
const (
	statSize  = 128
	statMode  = 16
	statRdev  = 32
	statBytes = 48
)

// The registers of clone's last two arguments (clone(2), "C library/kernel differences").
const (
	cloneTLS      = 3
	cloneChildTid = 4
)

// struct epoll_event (include/uapi/linux/eventpoll.h).
const (
	epollEventSize = 16
	epollData      = 8
)

// largeFile is O_LARGEFILE, which the kernel sets in every open file's flags
// (arch/arm64/include/uapi/asm/fcntl.h); for 64-bit programs the constant of libc is 0.
const largeFile = 0o400000

// What else is in struct stat there: its owner, its blocks and its times.
const (
	statUID    = 24
	statBlocks = 64
	statTimes  = 72
)

func statLinks(b []byte) uint64     { return uint64(u32(b, 20)) }
func statBlockSize(b []byte) uint64 { return uint64(u32(b, 56)) }

// signalMaskAt is where struct ucontext has its mask, from the stack pointer on when a handler of signals returns.
const signalMaskAt = 128 + 8 + 8 + 24

// struct semid64_ds.
const (
	semCtime  = 56
	semNsems  = 64
	semidSize = 88
)
