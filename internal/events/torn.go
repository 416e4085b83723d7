package events

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A line can be torn where a file has no room for all of it, or who wrote it was killed. The next one then would be appended to the half.

// finishTorn ends the last line of a file that is appended to, if that was not ended.
func finishTorn(f *os.File) {
	if size, ok := sizeOf(f); ok && size > 0 && string(readAt(f, size-1, 1)) != "\n" {
		_, _ = f.WriteString("\n")
	}
}

// cutTorn takes away what of a line was written last, after which something has failed, and returns how much of what was written is left.
func cutTorn(f *os.File, wrote []byte) int {
	whole := bytes.LastIndexByte(wrote, '\n') + 1
	torn := wrote[whole:]
	size, ok := sizeOf(f)
	if !ok || len(torn) == 0 || size < int64(len(torn)) {
		return whole
	}
	if at := size - int64(len(torn)); bytes.Equal(readAt(f, at, len(torn)), torn) { // else another one appends to it, too
		_ = unix.Ftruncate(int(f.Fd()), at)
	}
	return whole
}

// sizeOf is the size of a regular file that is appended to.
func sizeOf(f *os.File) (size int64, ok bool) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_APPEND == 0 {
		var at int64
		at, err = f.Seek(0, io.SeekCurrent)
		ok = at == st.Size
	} else {
		ok = true
	}
	return st.Size, ok && err == nil
}

// readAt reads from a file that is open for writing alone.
func readAt(f *os.File, at int64, n int) []byte {
	in, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return nil
	}
	defer in.Close()
	buf := make([]byte, n)
	n, _ = in.ReadAt(buf, at)
	return buf[:n]
}
