package libexec

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxMessage bounds a datagram of the protocols between the programs.
const maxMessage = 64 << 10

// Socketpair returns the two ends of a SOCK_SEQPACKET pair: messages keep their
// boundaries, and the death of one side is end of file at the other. Both are in
// blocking mode and closed by exec; hand one on with exec.Cmd.ExtraFiles.
func Socketpair() (*os.File, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}

// SendFD sends one datagram with msg, which must not be empty, and the
// descriptor fd over the socket sock. With fd < 0 it sends the message alone.
func SendFD(sock *os.File, fd int, msg []byte) error {
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	err := onDescriptor(sock, func(s int) error {
		return unix.Sendmsg(s, msg, rights, nil, unix.MSG_NOSIGNAL)
	})
	if err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	return nil
}

// RecvFD receives one datagram and the descriptor that came with it, which is
// closed by exec and the caller's to close; -1 if none came. The end of the other
// side is io.EOF.
func RecvFD(sock *os.File) (fd int, msg []byte, err error) {
	fd, msg, _, err = RecvFrom(sock)
	return fd, msg, err
}

// ErrUnread is an io.EOF: the other side has ended, and has not read all that was sent to it.
var ErrUnread = fmt.Errorf("messages were not read: %w", io.EOF)

// RecvFrom is RecvFD and tells who sent the message, if SO_PASSCRED is set on
// sock; the process id is that of the receiver's namespace, whatever namespace
// the sender lives in (unix(7), SCM_CREDENTIALS). Without, the sender is nil.
func RecvFrom(sock *os.File) (fd int, msg []byte, sender *unix.Ucred, err error) {
	buf := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(4)+unix.CmsgSpace(unix.SizeofUcred))
	var n, oobn, flags int
	err = onDescriptor(sock, func(s int) error {
		var err error
		n, oobn, flags, _, err = unix.Recvmsg(s, buf, oob, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if errors.Is(err, unix.ECONNRESET) {
		return -1, nil, nil, ErrUnread // (unix_release_sock in net/unix/af_unix.c)
	}
	if err != nil {
		return -1, nil, nil, fmt.Errorf("receive a message: %w", err)
	}
	fd, sender, err = ancillary(oob[:oobn])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("receive a message: it is too long")
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return -1, nil, nil, err
	}
	return fd, buf[:n], sender, nil
}

// ancillary returns the first descriptor and the credentials in the control
// messages, and closes what descriptors there are more, lest they leak.
func ancillary(oob []byte) (fd int, sender *unix.Ucred, err error) {
	fd = -1
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1, nil, fmt.Errorf("receive a message: %w", err)
	}
	for i := range messages {
		if cred, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			sender = cred
			continue
		}
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, other := range fds {
			if fd < 0 {
				fd = other
			} else {
				unix.Close(other)
			}
		}
	}
	return fd, sender, nil
}

// onDescriptor calls f with the socket's descriptor until it is not interrupted.
func onDescriptor(sock *os.File, f func(fd int) error) error {
	for {
		if err := f(int(sock.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
