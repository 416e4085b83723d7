package trace

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/trace/decode"
)

// memory reads the memory of the process that it is the id of.
type memory int

var _ decode.Memory = memory(0)

var pageSize = uint64(os.Getpagesize())

// Read fills buf from addr on and returns how many bytes were readable.
//
// process_vm_readv(2) transfers whole elements of the remote vector or nothing
// of them, so a read that may run into an unmapped page asks page by page.
func (m memory) Read(addr uint64, buf []byte) int {
	if len(buf) == 0 || addr+uint64(len(buf)) < addr {
		return 0
	}
	var pages [8]unix.RemoteIovec
	done := 0
	for done < len(buf) {
		remote, at, left := pages[:0], addr+uint64(done), uint64(len(buf)-done)
		for left > 0 && len(remote) < len(pages) {
			n := min(left, pageSize-at%pageSize)
			remote = append(remote, unix.RemoteIovec{Base: uintptr(at), Len: int(n)})
			at, left = at+n, left-n
		}
		asked := int(at-addr) - done
		local := []unix.Iovec{{Base: &buf[done]}}
		local[0].SetLen(asked)
		n, err := unix.ProcessVMReadv(int(m), local, remote, 0)
		if err != nil {
			break
		}
		done += n
		if n < asked {
			break
		}
	}
	return done
}
