// Package files gives the guest single files of the host in its home, as files like any other there: programs replace
// them by rename(2), which the kernel refuses for what is mounted (fs/namei.c, d_is_local_mountpoint in vfs_rename).
//
// In a home that the database has, a [Tree] is the guest's side, in art-fuse: it puts each file into the tree before a
// session, and takes it away afterwards. A [Host] is the host's side, in art: it opens the files, looks whether somebody
// changes them, and writes what the guest has written, since art-fuse has no rights on the host. Content goes between the
// two as open files, over a socket:
//
//	art to art-fuse     file N        the host's file, first and whenever it has changed
//	art-fuse to art     wrote N       what the guest has written; answered by
//	art to art-fuse     done N, failed N
//	art-fuse to art     removed N     the guest has removed the file
//	art-fuse to art     other N       the guest has put something else there
//
// In a home that is a plain directory a [Directory] is both sides, in art. It compares content, since other sessions may
// follow the same file, and one that was killed may have left something to be done.
package files

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// MaxSize is how large a file may be, which is copied whole each time.
const MaxSize = 16 << 20

// message is what goes over the socket.
type message struct {
	kind string
	file int
	fd   *os.File // nil: none
	err  error    // the end of the other side
}

func (m *message) close() {
	if m.fd != nil {
		m.fd.Close()
	}
}

func parseMessage(fd int, text []byte, files int) (m message, err error) {
	if fd >= 0 {
		m.fd = os.NewFile(uintptr(fd), "file")
	}
	if n, err := fmt.Sscanf(string(text), "%s %d", &m.kind, &m.file); n != 2 || err != nil || m.file < 0 || m.file >= files {
		m.close()
		return message{}, fmt.Errorf("message %q", text)
	}
	return m, nil
}

// content reads a file from its beginning, if that is not too large.
func content(f *os.File) (data []byte, st unix.Stat_t, err error) {
	if err = unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, fmt.Errorf("it is not a regular file")
	}
	data, err = io.ReadAll(io.NewSectionReader(f, 0, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		data, err = nil, errTooLarge
	}
	return data, st, err
}

var errTooLarge = fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
