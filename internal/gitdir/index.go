package gitdir

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
const maxIndex = 512 << 20

// Tracks says whether the git repository that root lies in tracks files in its directory name: then a commit, of
// whomever, can bring them. An index that cannot be read says nothing.
func Tracks(root, name string) bool {
	for dir := root; ; dir = filepath.Dir(dir) {
		index, ok := indexFile(filepath.Join(dir, ".git"))
		if ok {
			prefix, err := filepath.Rel(dir, filepath.Join(root, name))
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
	case !info.Mode().IsRegular():
		return "", true
	}
	dir, err := named(path)
	if err != nil {
		return "", true
	}
	for _, place := range []string{"/.git/worktrees/", "/.git/modules/"} {
		if strings.Contains(dir, place) {
			return filepath.Join(dir, "index"), true
		}
	}
	return "", true
}

// Files returns what an index tracks: each file, and the directories above it. With an error, it is what could be
// read.
func Files(index string) (most map[string]bool, err error) {
	for _, id := range idSizes {
		paths := map[string]bool{}
		err = scan(index, id, func(name []byte) bool {
			for path := string(name); path != "." && path != "/" && !paths[path]; path = filepath.Dir(path) {
				paths[path] = true
			}
			return true
		})
		if most == nil || err == nil || len(paths) > len(most) {
			most = paths
		}
		if err == nil || errors.Is(err, errSplit) {
			break
		}
	}
	return most, err
}

// tracks says whether an index has an entry whose path begins with prefix.
func tracks(index, prefix string) bool {
	for _, id := range idSizes {
		found := false
		err := scan(index, id, func(name []byte) bool {
			found = bytes.HasPrefix(name, []byte(prefix))
			return !found && string(name) <= prefix
		})
		if err == nil {
			return found
		}
	}
	return false
}

// idSizes are those of an object's id, by SHA-1 or by SHA-256, which only the repository's configuration says. With
// the wrong one, no entry makes sense.
var idSizes = []int{20, 32}

// scan reads the index in a file, up to where each, which is given every entry's name in order, returns false.
func scan(file string, id int, each func(name []byte) bool) error {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errIndex
	}
	return scanIndex(bufio.NewReader(io.LimitReader(f, maxIndex)), id, each)
}

var (
	errIndex = errors.New("this is no index")
	errSplit = errors.New("its index is split, which art does not read (core.splitIndex)")
)

// scanIndex reads an index, gitformat-index(5). id is the length of an object's.
func scanIndex(r *bufio.Reader, id int, each func(name []byte) bool) error {
	var header struct {
		Signature      [4]byte
		Version, Count uint32
	}
	if err := binary.Read(r, binary.BigEndian, &header); err != nil {
		return err
	}
	if string(header.Signature[:]) != "DIRC" || header.Version < 2 || header.Version > 4 {
		return errIndex
	}
	fixed := make([]byte, 40+id+2)
	var name []byte
	for range header.Count {
		if _, err := io.ReadFull(r, fixed); err != nil {
			return err
		}
		size := len(fixed)
		flags := binary.BigEndian.Uint16(fixed[40+id:])
		if flags&0x4000 != 0 { // extended: two bytes more
			if header.Version < 3 {
				return errIndex
			}
			if _, err := r.Discard(2); err != nil {
				return err
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
			return err
		}
		if length := int(flags & 0xfff); length != min(len(name), 0xfff) || bytes.Compare(last, name) > 0 {
			return errIndex
		}
		if !each(name) {
			return nil
		}
	}
	// The extension that names another file, with more entries, is the first one.
	if extension, _ := r.Peek(4); string(extension) == "link" {
		return errSplit
	}
	return nil
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
