package posix

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// describe is what stat(2) shows of an object, but for its times, its inode number, and what a file
// system may choose: the size of a directory, and how many blocks a file takes.
func describe(st *unix.Stat_t) string {
	size := st.Size
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		size = 0
	}
	return fmt.Sprintf("%06o %d:%d nlink=%d size=%d rdev=%x", st.Mode, st.Uid, st.Gid, st.Nlink, size, st.Rdev)
}

type dirEntry struct {
	name string
	ino  uint64
	kind uint8 // DT_ of dirent.h
}

// readDir lists a directory in the order of names, without "." and "..".
func readDir(path string, flags int) ([]dirEntry, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var list []dirEntry
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil || n == 0 {
			slices.SortFunc(list, func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
			return list, err
		}
		// struct linux_dirent64 of getdents(2): ino 8, off 8, reclen 2, type 1, name.
		for b := buf[:n]; len(b) > 0; b = b[binary.NativeEndian.Uint16(b[16:]):] {
			name, _, _ := strings.Cut(string(b[19:binary.NativeEndian.Uint16(b[16:])]), "\x00")
			if name != "." && name != ".." {
				list = append(list, dirEntry{name, binary.NativeEndian.Uint64(b), b[18]})
			}
		}
	}
}

// walk visits a tree, directories before what they hold, and each before it is read, because that
// may move its access time (FUSE does not pass O_NOATIME on).
func walk(path string, visit func(path string, st *unix.Stat_t, e *dirEntry) error) error {
	var down func(path string, e *dirEntry) error
	down = func(path string, e *dirEntry) error {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if err := visit(path, &st, e); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return err
		}
		list, err := readDir(path, unix.O_NOATIME)
		for i := 0; i < len(list) && err == nil; i++ {
			err = down(filepath.Join(path, list[i].name), &list[i])
		}
		return err
	}
	return down(path, nil)
}

// Long ago: the times of all objects when a story begins. The access time is the older one, so that
// the first reading moves it (relatime in mount(8)).
var longAgo = []unix.Timespec{{Sec: 1_000_000_000, Nsec: 111_111_111}, {Sec: 1_100_000_000, Nsec: 222_222_222}}

// pathsOf lists a tree.
func pathsOf(dir string) ([]string, error) {
	var paths []string
	err := walk(dir, func(path string, _ *unix.Stat_t, _ *dirEntry) error {
		paths = append(paths, path)
		return nil
	})
	return paths, err
}

// age gives everything in a tree the times of long ago.
func age(dir string) error {
	paths, err := pathsOf(dir)
	for i := 0; i < len(paths) && err == nil; i++ {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, paths[i], longAgo, unix.AT_SYMLINK_NOFOLLOW)
	}
	return err
}

// touch copies every second one of the objects up, by operations that change nothing. A chown would
// clear the set-ID bits.
func touch(paths []string) error {
	for i := 1; i < len(paths); i += 2 {
		var st unix.Stat_t
		err := unix.Lstat(paths[i], &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.Lchown(paths[i], -1, -1)
		} else if err == nil {
			err = unix.Chmod(paths[i], st.Mode&0o7777)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note remembers inodes by their first paths.
func (p *performer) note(paths []string) error {
	notes := map[uint64]string{}
	p.notes[p.where] = notes
	for _, path := range paths {
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if _, ok := notes[st.Ino]; !ok {
			notes[st.Ino] = path
		}
	}
	return nil
}

// hold keeps the inodes that were noted until the story ends, so that no new one has the number of
// one of them.
func (p *performer) hold() error {
	for _, path := range p.notes[p.where] {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		p.open[fmt.Sprint(p.where, " held ", path)] = fd
	}
	return nil
}

// portrait describes all there is in the current directory, a line for each object. since is when
// the story began, in nanoseconds since 1970.
func (p *performer) portrait(since int64) (string, error) {
	var b strings.Builder
	// What has been met already: its first path, and the access time that it had then.
	type first struct {
		path  string
		atime unix.Timespec
	}
	met := map[uint64]first{}
	err := walk(".", func(path string, st *unix.Stat_t, e *dirEntry) error {
		was, again := met[st.Ino]
		if !again {
			was = first{path, st.Atim}
			met[st.Ino] = was
		}
		fmt.Fprintf(&b, "%q %s a=%s m=%s c=%s ino=%d", path, describe(st),
			shown(was.atime, since), shown(st.Mtim, since), ctime(st.Ctim, since), st.Ino)
		if note, ok := p.notes[p.where][st.Ino]; ok {
			fmt.Fprintf(&b, " was=%q", note)
		} else if again {
			fmt.Fprintf(&b, " same=%q", was.path)
		}
		if e != nil && (e.ino != st.Ino || uint32(e.kind)<<12 != st.Mode&unix.S_IFMT) {
			fmt.Fprintf(&b, " listed as inode %d type %d, but is inode %d", e.ino, e.kind, st.Ino)
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			content, err := digest(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + content)
		case unix.S_IFLNK:
			buf := make([]byte, unix.PathMax)
			n, err := unix.Readlink(path, buf)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " -> %q", buf[:n])
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}

// shown says of a time whether it is the story's; otherwise it is a value that was set.
func shown(t unix.Timespec, since int64) string {
	if n := t.Nano(); n >= since && n < since+int64(time.Hour) {
		return "now"
	}
	return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec)
}

// ctime says of a change time whether it is the story's. It cannot be set.
func ctime(t unix.Timespec, since int64) string {
	if t.Nano() >= since {
		return "now"
	}
	return "before"
}

// digest stands for a file's content. Only the beginning of a large one is read.
func digest(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOATIME|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 1<<16)
	n, err := unix.Pread(fd, buf, 0)
	if err != nil {
		return "", err
	}
	if n <= 40 {
		return strconv.Quote(string(buf[:n])), nil
	}
	return fmt.Sprintf("%x", sha256.Sum256(buf[:n])), nil
}
