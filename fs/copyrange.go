package fs

import (
	"math"
	"sync"
	"syscall"
)

const (
	// copyMost is how much of a file one request copies, in bytes: the kernel holds the file that is written meanwhile,
	// and programs ask for the rest.
	copyMost = 32 << 20
	copyUnit = 1 << 20
)

// copyBuffers are for CopyRange.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, copyUnit); return &b }}

// CopyRange implements FileSystem. Content goes from memory to memory, and not twice through the kernel; what has
// no place in the kernel's cache does not get one.
func (o *Overlay) CopyRange(c Caller, from Ino, off int64, to Ino, at, length int64) (int64, error) {
	if off < 0 || at < 0 || length < 0 || off > math.MaxInt64-length || at > math.MaxInt64-length {
		return 0, syscall.EINVAL
	}
	if length = min(length, copyMost); from == to && off < at+length && at < off+length {
		return 0, syscall.EINVAL
	}
	e, err := o.Getattr(from)
	if err != nil {
		return 0, err
	}
	// What is appended to a file by its own copy is not copied again.
	length = max(0, min(length, e.Attr.Size-off))
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	for done := int64(0); done < length; {
		// Up to an edge: then the chunks that follow are written as a whole.
		p := (*buf)[:min(copyUnit-(at+done)%copyUnit, length-done)]
		n, err := o.Read(from, p, off+done)
		if err == nil && n > 0 {
			err = o.Write(c, to, p[:n], at+done)
		}
		if err != nil && done == 0 {
			return 0, err
		}
		if err != nil || n == 0 {
			return done, nil
		}
		done += int64(n)
	}
	return length, nil
}
