// Package redact keeps secrets out of a trace: whatever a handler reads of a tracee that
// is one, or a part of one, it reads as asterisks.
//
// That is done where memory is read, not where a trace is written, because there a
// secret may be cut off, escaped, or spread over several arguments. What a tracee has
// encoded, or hands over a piece at a time from different places, is not recognised.
package redact

import (
	"bytes"
	"os"

	"github.com/riverlytech/art/trace"
	"github.com/riverlytech/art/trace/decode"
)

// Shortest is the length in bytes that a value must have to be kept out. Shorter ones,
// such as 1 and yes, are in everything.
const Shortest = 6

// mask is put in the place of each byte.
const mask = '*'

// New returns a handler that calls next, for which each of values reads as asterisks.
func New(values []string, next trace.Handler) trace.Handler {
	r := &redactor{Handler: next}
	for _, v := range values {
		if len(v) >= Shortest {
			r.values = append(r.values, []byte(v))
			r.longest = max(r.longest, len(v))
		}
	}
	if r.values == nil {
		return next
	}
	return r
}

// Calls implements trace.Selector.
func (r *redactor) Calls() []string {
	if s, ok := r.Handler.(trace.Selector); ok {
		return s.Calls()
	}
	return nil
}

type redactor struct {
	trace.Handler
	values  [][]byte
	longest int
}

// Enter implements trace.Handler. What it changes in the call stays until its exit.
func (r *redactor) Enter(c *decode.Call) error {
	c.Mem, c.Files = &memory{c.Mem, r}, &files{c.Files, r}
	return r.Handler.Enter(c)
}

// hide masks the secrets in b.
func (r *redactor) hide(b []byte) []byte {
	// Found in what was there before anything was masked: one may be a part of another.
	var found [][2]int
	for _, v := range r.values {
		for at := 0; ; {
			i := bytes.Index(b[at:], v)
			if i < 0 {
				break
			}
			at += i + 1
			found = append(found, [2]int{at - 1, at - 1 + len(v)})
		}
	}
	for _, f := range found {
		for i := f[0]; i < f[1]; i++ {
			b[i] = mask
		}
	}
	return b
}

// memory is a tracee's with the secrets masked.
type memory struct {
	decode.Memory
	r *redactor
}

var pageSize = uint64(os.Getpagesize())

// Read implements decode.Memory. It looks at what is around what is asked for as well, of
// which a secret may be a part.
func (m *memory) Read(addr uint64, buf []byte) int {
	n := m.Memory.Read(addr, buf)
	if n == 0 {
		return 0
	}
	more := m.r.longest - 1
	around := make([]byte, more+n+more)
	// The page before may not be readable.
	before := min(uint64(more), addr)
	if uint64(m.Memory.Read(addr-before, around[:before])) < before {
		before = min(before, addr%pageSize)
		before = uint64(m.Memory.Read(addr-before, around[:before]))
	}
	end := int(before) + copy(around[before:], buf[:n])
	if n == len(buf) {
		end += m.Memory.Read(addr+uint64(n), around[end:end+more])
	}
	copy(buf[:n], m.r.hide(around[:end])[before:])
	return n
}

// files are a tracee's with the secrets in their names masked.
type files struct {
	decode.Files
	r *redactor
}

// All that the files of a tracee have: what is missing here would not be decoded.
var (
	_ decode.Endpoints = (*files)(nil)
	_ decode.Sockets   = (*files)(nil)
	_ decode.Protocols = (*files)(nil)
	_ decode.Processes = (*files)(nil)
)

// Path implements decode.Files.
func (f *files) Path(fd int) string { return f.r.name(f.Files.Path(fd)) }

// Dir implements decode.Files.
func (f *files) Dir() string { return f.r.name(f.Files.Dir()) }

// Endpoint implements decode.Endpoints.
func (f *files) Endpoint(fd int) string {
	if e, ok := f.Files.(decode.Endpoints); ok {
		return f.r.name(e.Endpoint(fd))
	}
	return ""
}

// Family implements decode.Sockets.
func (f *files) Family(fd int) (family int, ok bool) {
	if s, is := f.Files.(decode.Sockets); is {
		return s.Family(fd)
	}
	return 0, false
}

// Protocol implements decode.Protocols.
func (f *files) Protocol(fd int) int {
	if p, ok := f.Files.(decode.Protocols); ok {
		return p.Protocol(fd)
	}
	return -1
}

// Process implements decode.Processes.
func (f *files) Process(fd int) int {
	if p, ok := f.Files.(decode.Processes); ok {
		return p.Process(fd)
	}
	return 0
}

// Device implements decode.Endpoints.
func (f *files) Device(fd int) string {
	if e, ok := f.Files.(decode.Endpoints); ok {
		return e.Device(fd)
	}
	return ""
}

func (r *redactor) name(path string) string { return string(r.hide([]byte(path))) }
