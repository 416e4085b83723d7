package main

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// dirent is an entry as getdents64(2) tells it.
type dirent struct {
	name string
	ino  uint64
	kind uint8 // DT_*
}

// list reads a directory in small steps, so that much can happen in between. "." and ".." are
// left out.
func list(path string) ([]dirent, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var ents []dirent
	for buf := make([]byte, 4096); ; {
		n, err := unix.Getdents(fd, buf)
		if n <= 0 || err != nil {
			return ents, err
		}
		// struct linux_dirent64: ino, offset, length of the record, type, name with a NUL behind it.
		for rec := buf[:n]; len(rec) > 0; {
			length := binary.NativeEndian.Uint16(rec[16:])
			name, _, _ := bytes.Cut(rec[19:length], []byte{0})
			if s := string(name); s != "." && s != ".." {
				ents = append(ents, dirent{s, binary.NativeEndian.Uint64(rec), rec[18]})
			}
			rec = rec[length:]
		}
	}
}
