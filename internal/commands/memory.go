package commands

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

const (
	page    = 4096 // the smallest there is: what lies within one is there as a whole, or not at all
	pointer = 8
	piece   = 256 // of a string, which is read at a time
)

// errFault says that a process has passed what it does not have: the call will fail.
var errFault = errors.New("it is not in the process's memory")

// memory reads that of a process.
type memory struct{ pid int }

// within returns how much of size bytes at an address lies in one page.
func within(at uint64, size int) int { return min(size, page-int(at%page)) }

// read reads from several places, no more from each than lies in one page, and returns what there was. A place that cannot
// be read ends it.
func (m memory) read(at []uint64, size int) ([][]byte, error) {
	buf := make([]byte, len(at)*size)
	local, remote, parts := make([]unix.Iovec, len(at)), make([]unix.RemoteIovec, len(at)), make([][]byte, len(at))
	for i, a := range at {
		parts[i] = buf[i*size:][:within(a, size)]
		local[i].Base = &parts[i][0]
		local[i].SetLen(len(parts[i]))
		remote[i] = unix.RemoteIovec{Base: uintptr(a), Len: len(parts[i])}
	}
	n, err := unix.ProcessVMReadv(m.pid, local, remote, 0)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if n -= len(parts[i]); n < 0 {
			return parts[:i], errFault
		}
	}
	return parts, nil
}

// text reads up to the NUL, of which it returns no more than limit bytes. first is its beginning, if that is known already.
func (m memory) text(at uint64, first []byte, limit int) (s []byte, cut bool, err error) {
	for {
		if i := bytes.IndexByte(first, 0); i >= 0 {
			s = append(s, first[:i]...)
			return s[:min(len(s), limit)], len(s) > limit, nil
		}
		if s = append(s, first...); len(s) > limit {
			return s[:limit], true, nil
		}
		parts, err := m.read([]uint64{at + uint64(len(s))}, piece)
		if err != nil {
			return nil, false, err
		}
		first = parts[0]
	}
}

// exec reads the path and the arguments that a process passes to execve.
func (m memory) exec(pathAt, argvAt uint64) (path string, argv []byte, cut bool, err error) {
	places := []uint64{pathAt, argvAt}
	if argvAt == 0 { // as execve(2) permits
		places = places[:1]
	}
	parts, err := m.read(places, piece)
	if err != nil {
		return "", nil, false, err
	}
	name, cut, err := m.text(pathAt, parts[0], unix.PathMax)
	if err != nil || cut {
		return "", nil, false, errors.Join(err, unix.ENAMETOOLONG)
	}
	if argvAt == 0 {
		return string(name), nil, false, nil
	}
	argv, cut, err = m.arguments(argvAt, parts[1])
	return string(name), argv, cut, err
}

// arguments reads the strings that a list of pointers leads to, of which the first lie in list.
func (m memory) arguments(at uint64, list []byte) (argv []byte, cut bool, err error) {
	for {
		var places []uint64
		end := false
		for len(list) >= pointer && !end {
			p := binary.LittleEndian.Uint64(list)
			if list = list[pointer:]; p == 0 {
				end = true
			} else {
				places = append(places, p)
			}
			at += pointer
		}
		if argv, cut, err = m.append(argv, places); err != nil || cut || end {
			return argv, cut, err
		}
		parts, err := m.read([]uint64{at}, piece)
		if err != nil {
			return nil, false, err
		}
		if list = parts[0]; len(list) < pointer { // one that lies in two pages
			parts, err := m.read([]uint64{at + uint64(len(list))}, pointer-len(list))
			if err != nil {
				return nil, false, err
			}
			list = append(list, parts[0]...)
		}
	}
}

// append adds strings to argv, up to what a message holds.
func (m memory) append(argv []byte, places []uint64) (_ []byte, cut bool, err error) {
	if len(places) == 0 {
		return argv, false, nil
	}
	first, err := m.read(places, piece)
	if err != nil {
		return nil, false, err
	}
	for i, at := range places {
		room := control.MaxArgv - len(argv) - 1
		if room <= 0 {
			return argv, true, nil
		}
		s, cut, err := m.text(at, first[i], room)
		if err != nil {
			return nil, false, err
		}
		if argv = append(append(argv, s...), 0); cut {
			return argv, true, nil
		}
	}
	return argv, false, nil
}
