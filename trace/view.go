package trace

import (
	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/trace/decode"
)

// view is what belongs to a thread while its call waits for an answer. A thread that is killed meanwhile waits no more, and its
// id may be another's: nothing is returned that was read after that (SECCOMP_IOCTL_NOTIF_ID_VALID in seccomp_unotify(2)).
// Unlike process it has no Write, since nothing would put back what was there.
type view struct {
	of       process
	listener *seccomp.Listener
	call     *seccomp.Notification
}

var (
	_ decode.Memory    = (*view)(nil)
	_ decode.Files     = (*view)(nil)
	_ decode.Sockets   = (*view)(nil)
	_ decode.Endpoints = (*view)(nil)
	_ decode.Protocols = (*view)(nil)
	_ decode.Processes = (*view)(nil)
)

// valid returns what has just been read, if the thread still waits.
func valid[T any](v *view, read T) (none T) {
	if !v.listener.Waits(v.call) {
		return none
	}
	return read
}

// Read implements decode.Memory.
func (v *view) Read(addr uint64, buf []byte) int { return valid(v, v.of.Read(addr, buf)) }

// Path implements decode.Files.
func (v *view) Path(fd int) string { return valid(v, v.of.Path(fd)) }

// Dir implements decode.Files.
func (v *view) Dir() string { return valid(v, v.of.Dir()) }

// Family implements decode.Sockets.
func (v *view) Family(fd int) (family int, ok bool) {
	family, ok = v.of.Family(fd)
	return family, valid(v, ok)
}

// Protocol implements decode.Protocols.
func (v *view) Protocol(fd int) int { return valid(v, v.of.Protocol(fd)) }

// Endpoint implements decode.Endpoints.
func (v *view) Endpoint(fd int) string { return valid(v, v.of.Endpoint(fd)) }

// Device implements decode.Endpoints.
func (v *view) Device(fd int) string { return valid(v, v.of.Device(fd)) }

// Process implements decode.Processes.
func (v *view) Process(fd int) int { return valid(v, v.of.Process(fd)) }
