package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Flags are what a kernel can do beyond the protocol's first version, and what it is to do (FUSE_* in linux/fuse.h). The
// upper half goes in a field of its own.
type Flags uint64

// What this package or its users know of.
const (
	AsyncRead        Flags = 1 << 0
	BigWrites        Flags = 1 << 5
	DontMask         Flags = 1 << 6
	AutoInvalData    Flags = 1 << 12
	DoReaddirplus    Flags = 1 << 13
	ReaddirplusAuto  Flags = 1 << 14
	NoOpenSupport    Flags = 1 << 17
	ParallelDirOps   Flags = 1 << 18
	PosixACL         Flags = 1 << 20
	MaxPages         Flags = 1 << 22
	CacheSymlinks    Flags = 1 << 23
	NoOpendirSupport Flags = 1 << 24
	HandleKillprivV2 Flags = 1 << 28
	SetxattrExt      Flags = 1 << 29
	HasExpireOnly    Flags = 1 << 35
	initExt          Flags = 1 << 30
	overIOUring      Flags = 1 << 41
)

// Options are what the file system wants of the kernel.
type Options struct {
	// Want are flags that are granted where the kernel offers them.
	Want Flags
	// Need are flags without which there is no connection.
	Need Flags
	// MaxBackground is how many requests that nobody waits for (readahead, releases) may be on their way at once.
	MaxBackground uint16
	Transport     Transport
}

// Transport is a way for requests and replies.
type Transport string

const (
	Any    Transport = ""         // rings where the kernel grants them, otherwise the device
	Device Transport = "device"   // read(2) and write(2) on /dev/fuse
	Rings  Transport = "io_uring" // FUSE over io_uring, or no connection
)

// ParseTransport takes what a user has written into the variable ART_WIRE.
func ParseTransport(s string) (Transport, error) {
	switch t := Transport(s); t {
	case Any, Device, Rings:
		return t, nil
	}
	return "", fmt.Errorf("the variable ART_WIRE is %q: it may be %q or %q", s, Device, Rings)
}

// unsupported is an error that is errors.ErrUnsupported and does not say so.
type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }
func (u unsupported) Unwrap() error      { return u.error }

// errNotOffered is why there are no rings on most machines.
var errNotOffered = unsupported{errors.New("the kernel offers no FUSE over io_uring: it takes Linux 6.14, and Y in /sys/module/fuse/parameters/enable_uring")}

const (
	major, minor = 7, 41

	initOutSize = 64 // struct fuse_init_out
	maxPages    = 256
	// maxReadahead is how much the kernel may read in advance; it has its own bound below that.
	maxReadahead = 1 << 20
)

// maxPayload is the most content that a request or a reply carries, in bytes.
var maxPayload = maxPages * os.Getpagesize()

// negotiate answers the first request of a connection, FUSE_INIT.
func (c *Conn) negotiate(opt *Options) error {
	buf := make([]byte, maxPayload+os.Getpagesize()) // the device wants room for the longest request there is
	n, err := retry(func() (int, error) { return unix.Read(c.dev, buf) })
	if err != nil {
		return fmt.Errorf("read from /dev/fuse: %w", err)
	}
	h, err := decodeHeader(buf[:n])
	// struct fuse_init_in had 16 bytes before FUSE_INIT_EXT.
	if err != nil || h.opcode != opInit || n < inHeaderSize+16 {
		return errors.New("read from /dev/fuse: the first request is not FUSE_INIT")
	}
	f := fields{buf[inHeaderSize:n]}
	theirMajor, theirMinor, readahead, offered := f.u32(), f.u32(), f.u32(), Flags(f.u32())
	if offered&initExt != 0 && len(f.b) >= 4 {
		offered |= Flags(f.u32()) << 32
	}
	if missing := opt.Need &^ offered; theirMajor != major || missing != 0 {
		answer(c.dev, h.unique, syscall.EPROTO, nil)
		return fmt.Errorf("the kernel is too old: it speaks FUSE %d.%d, and lacks %#x", theirMajor, theirMinor, uint64(missing))
	}
	c.flags = offered & (opt.Want | opt.Need | BigWrites | MaxPages | HasExpireOnly | initExt)
	c.noRings = errNotOffered
	if offered&overIOUring != 0 && opt.Transport != Device {
		if c.rings, c.noRings = openRings(c.dev); c.rings != nil {
			c.flags |= overIOUring
		}
	}
	if opt.Transport == Rings && c.rings == nil {
		answer(c.dev, h.unique, syscall.EPROTO, nil)
		return c.noRings
	}
	err = answer(c.dev, h.unique, 0, initReply(opt, c.flags, min(readahead, maxReadahead), min(theirMinor, minor)))
	if err != nil && c.rings != nil {
		c.rings.abandon()
	}
	return err
}

// initReply is struct fuse_init_out.
func initReply(opt *Options, granted Flags, readahead, minor uint32) []byte {
	o := out{b: make([]byte, initOutSize)}
	o.u32(major)
	o.u32(minor)
	o.u32(readahead)
	o.u32(uint32(granted))
	background := uint32(opt.MaxBackground)
	o.u32(background | background*3/4<<16) // two of 16 bits; from the second on the kernel slows down who writes
	o.u32(uint32(maxPayload))
	o.u32(1) // granularity of times in nanoseconds
	o.u32(maxPages)
	o.u32(uint32(granted >> 32))
	o.zero(initOutSize - o.n)
	return o.b
}

// answer writes a reply in one piece.
func answer(dev int, unique uint64, errno syscall.Errno, payload []byte) error {
	msg := make([]byte, outHeaderSize, outHeaderSize+len(payload))
	putOutHeader(msg, outHeaderSize+len(payload), errno, unique)
	_, err := retry(func() (int, error) { return unix.Write(dev, append(msg, payload...)) })
	return err
}

// putOutHeader writes struct fuse_out_header.
func putOutHeader(b []byte, length int, errno syscall.Errno, unique uint64) {
	binary.NativeEndian.PutUint32(b[0:], uint32(length))
	binary.NativeEndian.PutUint32(b[4:], uint32(-int32(errno)))
	binary.NativeEndian.PutUint64(b[8:], unique)
}

func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
