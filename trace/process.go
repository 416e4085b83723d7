package trace

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/trace/decode"
)

// process is a thread's id, through which its memory and files are read.
type process int

var (
	_ decode.Memory = (*process)(nil)
	_ decode.Writer = (*process)(nil)
	_ decode.Files  = (*process)(nil)

	_ decode.Sockets = (*process)(nil)
)

// Path implements decode.Files. It returns what the kernel's link for the
// descriptor says: a path, or a name such as pipe:[7].
func (p *process) Path(fd int) string {
	return p.link("fd/" + strconv.Itoa(fd))
}

// Dir implements decode.Files.
func (p *process) Dir() string { return p.link("cwd") }

func (p *process) link(name string) string {
	target, err := os.Readlink("/proc/" + strconv.Itoa(int(*p)) + "/" + name)
	if err != nil {
		return ""
	}
	return target
}

var pageSize = uint64(os.Getpagesize())

// Read fills buf from addr on and returns how many bytes were readable.
//
// process_vm_readv(2) transfers whole elements of the remote vector or nothing
// of them, so a read that may run into an unmapped page asks page by page.
func (p *process) Read(addr uint64, buf []byte) int {
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
		n, err := unix.ProcessVMReadv(int(*p), local, remote, 0)
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

// Write implements decode.Writer. Through this file, memory that the tracee itself may
// not write can be written too (FOLL_FORCE in mem_rw, fs/proc/base.c).
func (p *process) Write(addr uint64, b []byte) int {
	f, err := os.OpenFile("/proc/"+strconv.Itoa(int(*p))+"/mem", os.O_WRONLY, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	if int64(addr) < 0 {
		return 0
	}
	n, _ := f.WriteAt(b, int64(addr)) // as much as could be
	return n
}
