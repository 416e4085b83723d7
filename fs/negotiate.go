package fs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jacobsa/fuse"
	"golang.org/x/sys/unix"
)

// Serve serves a file system on an open and mounted /dev/fuse, which it owns from now on. It
// returns when the kernel has been answered for the first time. logf receives what the kernel is
// not told.
//
// The library negotiates with the kernel in the first exchange, FUSE_INIT, and
// leaves out some of what we need. So it has this one exchange over a socket, where it can be
// amended, and gets the device itself under the same descriptor before the second.
func Serve(fd int, fsys FileSystem, logf func(string, ...any)) (*Mounted, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("serve: %w", err)
	}
	ours, theirs := pair[0], pair[1]
	s := newServer(fsys, theirs, logf)
	relayed := make(chan error, 1)
	go func() {
		err := relayInit(fd, ours, fsys.Volatile())
		unix.Close(ours) // the library would wait for ever for what is not coming
		relayed <- err
	}()
	mfs, err := fuse.Mount(fmt.Sprintf("/dev/fd/%d", theirs), s, mountConfig())
	if rerr := <-relayed; rerr != nil {
		err = rerr
	}
	if err == nil {
		// The library reads with blocking calls, which the device must be set for.
		if err = unix.SetNonblock(fd, false); err == nil {
			err = unix.Dup3(fd, theirs, unix.O_CLOEXEC)
		}
	}
	unix.Close(fd)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	close(s.begun)
	return &Mounted{mfs, s}, nil
}

// Mounted is a file system that is being served. Join waits for its end.
type Mounted struct {
	*fuse.MountedFileSystem
	server *Server
}

// Operations says how many operations of each kind the kernel has asked for so far, as "Kind=N",
// separated by spaces.
func (m *Mounted) Operations() string { return m.server.counts.String() }

// WastedPolls says for how long the server has waited awake for requests when none came: processor
// time that others could have had.
func (m *Mounted) WastedPolls() time.Duration {
	return time.Duration(m.server.poller.wasted.Load())
}

// Offsets in the messages of FUSE_INIT: struct fuse_in_header and fuse_init_in, fuse_out_header and
// fuse_init_out (linux/fuse.h).
const (
	inFlags       = 40 + 12
	outError      = 4
	outFlags      = 16 + 12
	outBackground = 16 + 16
	outCongestion = 16 + 18
)

const (
	// withoutOpen are FUSE_NO_OPEN_SUPPORT and FUSE_NO_OPENDIR_SUPPORT: the kernel can open and close
	// files and directories by itself. The last of them came with Linux 5.1.
	withoutOpen = 1<<17 | 1<<24
	// autoInval is FUSE_AUTO_INVAL_DATA: the kernel asks for a file's time of change, if what it knows has
	// expired, before it uses content that it has of it.
	autoInval = 1 << 12
	// handleKillpriv is FUSE_HANDLE_KILLPRIV_V2: we clear set-user-ID bits and capabilities when a
	// file changes. Without it the kernel asks for security.capability before every write, once
	// there are extended attributes at all (file_remove_privs in fs/inode.c).
	handleKillpriv = 1 << 28
	// maxBackground is how many requests that nobody waits for (readahead, releases) may be on
	// their way at once; the library would allow 12.
	maxBackground = 64
)

// relayInit passes the kernel's request on to the library and the amended answer back.
func relayInit(dev, library int, volatile bool) error {
	buf := make([]byte, os.Getpagesize()*32) // the device wants room for the longest request there is
	n, err := retry(func() (int, error) { return unix.Read(dev, buf) })
	if err != nil {
		return fmt.Errorf("read from /dev/fuse: %w", err)
	}
	if n < inFlags+4 {
		return fmt.Errorf("read from /dev/fuse: first message has %d bytes", n)
	}
	offered := binary.NativeEndian.Uint32(buf[inFlags:])
	if offered&withoutOpen != withoutOpen {
		return errors.New("the kernel is too old: it must be Linux 5.1 or newer")
	}
	wanted := offered & handleKillpriv
	if volatile {
		wanted |= offered & autoInval
	}
	if _, err := unix.Write(library, buf[:n]); err != nil {
		return err
	}
	if n, err = retry(func() (int, error) { return unix.Read(library, buf) }); err != nil {
		return err
	}
	if n >= outCongestion+2 && binary.NativeEndian.Uint32(buf[outError:]) == 0 {
		flags := binary.NativeEndian.Uint32(buf[outFlags:])
		binary.NativeEndian.PutUint32(buf[outFlags:], flags|wanted)
		binary.NativeEndian.PutUint16(buf[outBackground:], maxBackground)
		binary.NativeEndian.PutUint16(buf[outCongestion:], maxBackground*3/4) // as the kernel's own default
	}
	if _, err := unix.Write(dev, buf[:n]); err != nil {
		return fmt.Errorf("write to /dev/fuse: %w", err)
	}
	return nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
