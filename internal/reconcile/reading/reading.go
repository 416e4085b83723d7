// Package reading reads files of the host, in pieces of one pool of buffers: one after the other, or ahead.
package reading

import (
	"context"
	"errors"
	"io"
	"math/bits"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// BufferSize is how much content is moved at a time, in bytes: whole chunks, for most databases.
const BufferSize = 1 << 20

// What ends the reading of a file.
var (
	ErrChanging    = errors.New("it changes while it is read")
	ErrInterrupted = errors.New("interrupted")
)

// Pieces calls f for what a reader has from off to end, one buffer after the other. A buffer ends where a chunk
// does, so that no chunk is written twice.
func Pieces(ctx context.Context, r io.ReaderAt, off, end int64, f func(data []byte, off int64) error) error {
	buf := TakeBuffer(min(BufferSize, max(0, end-off)))
	defer DropBuffer(buf)
	for off < end {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		n, err := r.ReadAt(buf[:min(BufferSize-off%BufferSize, end-off)], off)
		switch {
		case err != nil && err != io.EOF:
			return hostfs.Unwrap(err)
		case n == 0:
			return ErrChanging
		}
		if err := f(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// buffers hold content for one file after the other: those at i have 1<<i bytes. A push reads all of a tree, and
// memory that is touched for the first time is not cheap.
var buffers [21]sync.Pool // to BufferSize

// TakeBuffer returns a buffer of BufferSize at most.
func TakeBuffer(size int64) []byte {
	class := bits.Len64(uint64(max(size, 1) - 1))
	if b, ok := buffers[class].Get().(*[]byte); ok {
		return (*b)[:size]
	}
	return make([]byte, size, 1<<class)
}

// DropBuffer lets others have a buffer.
func DropBuffer(b []byte) { buffers[bits.Len(uint(cap(b)))-1].Put(&b) }

// Extended attributes of files in the namespace of users (xattr(7)) are part of what is moved. The
// other namespaces give rights on the host, or belong to it.
const namespace = "user."

// Xattrs reads the user's extended attributes of an open file. A file system without any has
// none.
func Xattrs(f *os.File) (map[string]string, error) {
	fd := int(f.Fd())
	var list [sqlvfs.XattrListMax]byte
	n, err := unix.Flistxattr(fd, list[:])
	if n == 0 || err == unix.ENOTSUP {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var attrs map[string]string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, namespace) {
			continue
		}
		value := make([]byte, sqlvfs.XattrSizeMax)
		n, err := unix.Fgetxattr(fd, name, value)
		if err == unix.ENODATA {
			continue // removed since
		}
		if err != nil {
			return nil, err
		}
		if attrs == nil {
			attrs = map[string]string{}
		}
		attrs[name] = string(value[:n])
	}
	return attrs, nil
}

// XattrsOf closes a file that was opened for its extended attributes, which it returns.
func XattrsOf(f *os.File, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Xattrs(f)
}
