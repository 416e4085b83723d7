package fs

import (
	"encoding/binary"
	"reflect"
	"syscall"

	"github.com/jacobsa/fuse/fuseops"
	"golang.org/x/sys/unix"
)

// A request that the library cannot parse is lost to us: it yields neither the request nor its
// number. One is known, setxattr(2) of a name of one byte without a value (OpSetxattr in the
// library's conversions.go). Whoever makes it would wait where not even SIGKILL reaches
// (request_wait_answer in fs/fuse/dev.c), and keep its PID namespace, and with it the session, from
// ending. So the number is found by trying: the kernel ignores an answer to a number that waits for
// none (fuse_dev_do_write: ENOENT), and of those that wait all others are known.

// rejectUnparsed gives EOPNOTSUPP to the request that could not be read, whose number is near that of the
// request before it: the kernel counts them up in steps (fuse_get_unique in fs/fuse/dev.c). It
// reports whether there was one.
func rejectUnparsed(dev int, last any, inflight *inflight) bool {
	const step, reach = 2, 1 << 14
	from := number(last)
	errno := -int32(syscall.EOPNOTSUPP)
	for distance := uint64(step); distance <= reach; distance += step {
		for _, n := range [2]uint64{from + distance, from - distance} {
			if n > from+reach || inflight.has(n) {
				continue // below the first of all, or one of ours
			}
			var answer [16]byte // struct fuse_out_header in linux/fuse.h
			binary.NativeEndian.PutUint32(answer[0:], uint32(len(answer)))
			binary.NativeEndian.PutUint32(answer[4:], uint32(errno))
			binary.NativeEndian.PutUint64(answer[8:], n)
			if _, err := unix.Write(dev, answer[:]); err == nil {
				return true
			}
		}
	}
	return false
}

// numbered tells whether an operation will do as the one before: forgetting has no number, and of
// what the library does not know it shows none. These are the kinds that no program can do without.
func numbered(op any) bool {
	switch op.(type) {
	case *fuseops.LookUpInodeOp, *fuseops.GetInodeAttributesOp, *fuseops.MkNodeOp,
		*fuseops.ReadFileOp, *fuseops.WriteFileOp, *fuseops.UnlinkOp, *fuseops.SetXattrOp:
		return true
	}
	return false
}

// number is that of a numbered operation's request, 0 if there was none yet.
func number(op any) uint64 {
	if op == nil {
		return 0
	}
	return reflect.ValueOf(op).Elem().FieldByName("OpContext").Interface().(fuseops.OpContext).FuseID
}
