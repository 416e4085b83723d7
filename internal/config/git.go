package config

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxIndex bounds how much of an index is read, in bytes.
const maxIndex = 8 << 20

// Tracked says whether the git repository that root lies in tracks files in .art: then
// a commit, of whomever, can bring settings. git is not asked, as what it runs is the
// repository's to say. An index that cannot be read says nothing.
func Tracked(root string) bool {
	for dir := root; ; dir = filepath.Dir(dir) {
		index, ok := indexFile(filepath.Join(dir, ".git"))
		if ok {
			prefix, err := filepath.Rel(dir, filepath.Join(root, Dir))
			return err == nil && tracks(index, filepath.ToSlash(prefix)+"/")
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// indexFile returns the index of the repository whose .git is at path, if it is one. The
// file that a worktree or a submodule has there is followed only to where git puts them.
func indexFile(path string) (string, bool) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", false
	case info.IsDir():
		return filepath.Join(path, "index"), true
	case !info.Mode().IsRegular() || info.Size() > 4096:
		return "", true
	}
	text, err := os.ReadFile(path)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return "", true
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	for _, place := range []string{"/.git/worktrees/", "/.git/modules/"} {
		if strings.Contains(dir, place) {
			return filepath.Join(dir, "index"), true
		}
	}
	return "", true
}

// tracks says whether the index in file has an entry whose path begins with prefix.
func tracks(file, prefix string) bool {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	// The ids of objects are of SHA-1 or of SHA-256, which only the repository's
	// configuration says. With the wrong one, no entry makes sense.
	for _, id := range []int{20, 32} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return false
		}
		found, err := scanIndex(bufio.NewReader(io.LimitReader(f, maxIndex)), id, prefix)
		if err == nil {
			return found
		}
	}
	return false
}

var errIndex = errors.New("this is no index")

// scanIndex reads an index, gitformat-index(5), up to where an entry that begins with
// prefix has to be: entries are in the order of their names. id is the length of an
// object's.
func scanIndex(r *bufio.Reader, id int, prefix string) (bool, error) {
	var header struct {
		Signature      [4]byte
		Version, Count uint32
	}
	if err := binary.Read(r, binary.BigEndian, &header); err != nil {
		return false, err
	}
	if string(header.Signature[:]) != "DIRC" || header.Version < 2 || header.Version > 4 {
		return false, errIndex
	}
	fixed := make([]byte, 40+id+2)
	var name []byte
	for range header.Count {
		if _, err := io.ReadFull(r, fixed); err != nil {
			return false, err
		}
		size := len(fixed)
		flags := binary.BigEndian.Uint16(fixed[40+id:])
		if flags&0x4000 != 0 { // extended: two bytes more
			if header.Version < 3 {
				return false, errIndex
			}
			if _, err := r.Discard(2); err != nil {
				return false, err
			}
			size += 2
		}
		last := name
		var err error
		if header.Version == 4 {
			name, err = compressed(r, last)
		} else {
			name, err = padded(r, size)
		}
		if err != nil {
			return false, err
		}
		if length := int(flags & 0xfff); length != min(len(name), 0xfff) || bytes.Compare(last, name) > 0 {
			return false, errIndex
		}
		if len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix {
			return true, nil
		}
		if string(name) > prefix {
			return false, nil
		}
	}
	return false, nil
}

// padded reads a name and the zeros after it, which fill the entry, of which size bytes
// were read, up to a multiple of eight.
func padded(r *bufio.Reader, size int) ([]byte, error) {
	name, err := r.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	if more := (8 - (size+len(name))%8) % 8; more > 0 {
		if _, err := r.Discard(more); err != nil {
			return nil, err
		}
	}
	return name[:len(name)-1], nil
}

// compressed reads a name of version 4: how many bytes of the last one's end it has not,
// and what it has in their place.
func compressed(r *bufio.Reader, last []byte) ([]byte, error) {
	c, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	strip := uint64(c & 0x7f)
	for c&0x80 != 0 {
		if c, err = r.ReadByte(); err != nil {
			return nil, err
		}
		if strip++; strip > maxIndex {
			return nil, errIndex
		}
		strip = strip<<7 | uint64(c&0x7f)
	}
	rest, err := r.ReadBytes(0)
	if err != nil {
		return nil, err
	}
	if strip > uint64(len(last)) {
		return nil, errIndex
	}
	return append(bytes.Clone(last[:len(last)-int(strip)]), rest[:len(rest)-1]...), nil
}
