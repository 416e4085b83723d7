package session

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// check refuses who connects to a session, unless that is a program of the same user, or of root's, on the host. A guest has
// the socket nowhere in its view; should it reach it all the same, it has the caller's id, but lives in a user namespace of
// its own.
func check(conn int) error {
	peer, err := unix.GetsockoptUcred(conn, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("ask who connects: %w", err)
	}
	uid := os.Getuid()
	if int(peer.Uid) != uid && peer.Uid != 0 {
		return fmt.Errorf("user %d is neither %d nor root", peer.Uid, uid)
	}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return nil // a kernel without any
	}
	its, err := namespaceOf(conn, int(peer.Pid))
	switch {
	case err != nil && peer.Uid == 0 && uid != 0:
		return nil // an ordinary user may not look at root's processes
	case err != nil:
		return fmt.Errorf("ask who connects: %w", err)
	case its != own:
		return errors.New("it comes from another user namespace")
	}
	return nil
}

// Peer is the process at the other end, when it connected; 0 where that is not known.
func (c *Conn) Peer() int {
	peer, err := unix.GetsockoptUcred(c.fd(), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(peer.Pid)
}

// namespaceOf returns the user namespace of the process at the other end. Where the kernel gives that itself (SO_PEERPIDFD,
// Linux 6.5), it is known whether its number has been another's by then.
func namespaceOf(conn, pid int) (string, error) {
	pidfd, err := unix.GetsockoptInt(conn, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	known := err == nil
	if known {
		defer unix.Close(pidfd)
	} else if !errors.Is(err, unix.ENOPROTOOPT) {
		return "", err // it has ended
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	if known {
		if gone := unix.PidfdSendSignal(pidfd, 0, nil, 0); gone != nil && !errors.Is(gone, unix.EPERM) {
			return "", gone
		}
	}
	return its, err
}
