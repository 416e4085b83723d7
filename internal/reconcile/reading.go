package reconcile

import (
	"context"
	"errors"
	"io"
	"math/bits"
	"os"
	"strings"
	"sync"

	"github.com/riverlytech/art/internal/hostfs"
)

// bufferSize is how much content is moved at a time, in bytes: whole chunks, for most databases.
const bufferSize = 1 << 20

// What ends the reading of a file.
var (
	errChanging    = errors.New("it changes while it is read")
	errInterrupted = errors.New("interrupted")
)

// pieces calls f for what a reader has from off to end, one buffer after the other. A buffer ends where a chunk
// does, so that no chunk is written twice.
func pieces(ctx context.Context, r io.ReaderAt, off, end int64, f func(data []byte, off int64) error) error {
	buf := takeBuffer(min(bufferSize, max(0, end-off)))
	defer dropBuffer(buf)
	for off < end {
		if ctx.Err() != nil {
			return errInterrupted
		}
		n, err := r.ReadAt(buf[:min(bufferSize-off%bufferSize, end-off)], off)
		switch {
		case err != nil && err != io.EOF:
			return hostfs.Unwrap(err)
		case n == 0:
			return errChanging
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
var buffers [21]sync.Pool // to bufferSize

// takeBuffer returns a buffer of bufferSize at most.
func takeBuffer(size int64) []byte {
	class := bits.Len64(uint64(max(size, 1) - 1))
	if b, ok := buffers[class].Get().(*[]byte); ok {
		return (*b)[:size]
	}
	return make([]byte, size, 1<<class)
}

// dropBuffer lets others have a buffer.
func dropBuffer(b []byte) { buffers[bits.Len(uint(cap(b)))-1].Put(&b) }

// userXattrs reads the extended attributes of an open file in the namespace of users (xattr(7)), which are part of what is
// moved. The other namespaces give rights on the host, or belong to it.
func userXattrs(f *os.File) (attrs map[string]string, err error) {
	list, err := hostfs.Xattrs(int(f.Fd()), func(name string) bool { return strings.HasPrefix(name, "user.") })
	for name, value := range list {
		if attrs == nil {
			attrs = map[string]string{}
		}
		attrs[name] = string(value)
	}
	return attrs, err
}

// userXattrsOf closes a file that was opened for its extended attributes, which it returns.
func userXattrsOf(f *os.File, err error) (map[string]string, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return userXattrs(f)
}
