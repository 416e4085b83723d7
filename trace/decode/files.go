package decode

import "strings"

// fd prints a descriptor and, if that is asked for, what it refers to.
func (p *printer) fd(fd int32) {
	p.dec(int64(fd))
	if p.call.ShowFiles && fd >= 0 && !p.endpoint(int(fd)) {
		p.file(p.call.Files.Path(int(fd)))
	}
}

// endpoint prints what a descriptor is connected to, if that is asked for and known.
func (p *printer) endpoint(fd int) bool {
	e, ok := p.call.Files.(Endpoints)
	if !ok || !p.call.ShowSockets {
		return false
	}
	path := p.call.Files.Path(fd)
	if strings.HasPrefix(path, "socket:[") {
		text := e.Endpoint(fd)
		if text != "" {
			p.str("<")
			p.str(text + ">")
		}
		return text != ""
	}
	device := e.Device(fd)
	if device == "" {
		return false
	}
	p.str("<")
	p.buf = appendEscaped(p.buf, []byte(path), "<>")
	p.str("<" + device + ">>")
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
