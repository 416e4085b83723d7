package decode

import (
	"strconv"
	"strings"
)

// Descriptors are kinds of descriptors.
type Descriptors uint8

// The kinds are those of strace's --decode-fds. Any may have a path, or what stands for one, such as pipe:[7]; a socket has
// addresses besides, a device its numbers, and a pidfd its process.
const (
	PathDescriptors Descriptors = 1 << iota
	SocketDescriptors
	DeviceDescriptors
	PidDescriptors

	NoDescriptors  Descriptors = 0
	AllDescriptors             = PathDescriptors | SocketDescriptors | DeviceDescriptors | PidDescriptors
)

// fd prints a descriptor and, if that is asked for, what it refers to.
func (p *printer) fd(fd int32) {
	p.dec(int64(fd))
	if p.call.Show == NoDescriptors || fd < 0 {
		return
	}
	path := p.call.Files.Path(int(fd))
	if !p.endpoint(int(fd), path) && p.call.Show&PathDescriptors != 0 {
		p.file(path)
	}
}

// endpoint prints what a descriptor with the path is beside that, if it is asked for and known.
func (p *printer) endpoint(fd int, path string) bool {
	if p.call.Show&^PathDescriptors == 0 {
		return false
	}
	text := ""
	if f, ok := p.call.Files.(Processes); ok && path == "anon_inode:[pidfd]" && p.call.Show&PidDescriptors != 0 {
		if pid := f.Process(fd); pid > 0 {
			text = "pid:" + strconv.Itoa(pid)
		}
	}
	e, ok := p.call.Files.(Endpoints)
	switch {
	case text != "" || !ok:
	case strings.HasPrefix(path, "socket:["):
		if p.call.Show&SocketDescriptors != 0 {
			text = e.Endpoint(fd)
		}
	case p.call.Show&DeviceDescriptors != 0:
		if device := e.Device(fd); device != "" {
			text = string(appendEscaped(nil, []byte(path), "<>")) + "<" + device + ">"
		}
	}
	if text == "" {
		return false
	}
	p.str("<" + text + ">")
	return true
}

// fdElement prints a descriptor that is an element of an array.
func (p *printer) fdElement(b []byte) { p.fd(int32(u32(b, 0))) }

// file prints what a descriptor refers to, if that is known. The kernel marks a
// file without a name, which strace prints behind the path.
func (p *printer) file(path string) {
	if path == "" {
		return
	}
	path, deleted := strings.CutSuffix(path, " (deleted)")
	p.str("<")
	p.buf = appendEscaped(p.buf, []byte(path), "<>")
	p.str(">")
	if deleted {
		p.str("(deleted)")
	}
}
