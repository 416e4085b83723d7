package commands

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// program is a file as it was when it was looked at. What has been executed will be once more, as long as it is the same: it is in a form that
// the kernel knows, and what interprets it is there.
type program struct {
	dev, ino uint64
	size     int64
	changed  unix.Timespec // since when nobody has written to it or set its mode
}

// maxPrograms bounds how many files are known to be programs.
const maxPrograms = 4096

// executable says whether there may be a file that can be executed: who looks for a command in the directories of PATH executes all
// those that there could be. The file is zero if it can not be looked at, or not be known again. The error says that this process cannot look at any.
func (l *Learner) executable(tid, dir int, name string, cwd func() string, flags int) (may bool, file program, err error) {
	switch {
	case name == "" && flags&unix.AT_EMPTY_PATH != 0:
		return true, file, nil // the descriptor itself
	case name == "":
		return false, file, nil
	case !strings.HasPrefix(name, "/"):
		from := ""
		if dir == unix.AT_FDCWD {
			from = cwd()
		} else {
			from = l.link(tid, fmt.Sprintf("fd/%d", dir))
		}
		// A directory may have no path: it is removed, not below the root, or deeper than a path is long.
		if name = from + "/" + name; !strings.HasPrefix(from, "/") || strings.HasSuffix(from, " (deleted)") || len(name) >= unix.PathMax {
			return true, file, nil
		}
	}
	fd, err := unix.Openat2(l.root, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	switch {
	case err == nil:
	case absent(err):
		return l.throughProc(name), file, nil
	case errors.Is(err, unix.ENAMETOOLONG):
		return false, file, nil
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE):
		return false, file, err
	default:
		// A link in /proc is not followed. In a file system of FUSE's only those of the mount's user namespace may look: this process
		// is refused without a request (fuse_permission in fs/fuse/dir.c).
		return true, file, nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return true, file, nil
	}
	// Where fusermount3 has made the mount, this process may look. What is in the file it does not read.
	if !l.mounts[[2]uint32{unix.Major(st.Dev), unix.Minor(st.Dev)}] {
		file = program{uint64(st.Dev), st.Ino, st.Size, st.Ctim}
	}
	return isProgram(&st), file, nil
}

// isProgram says whether somebody may execute a file.
func isProgram(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o111 != 0
}

// maxLinks bounds how many symbolic links the kernel follows in a path (path_resolution(7)).
const maxLinks = 40

// throughProc says of a path at which there is nothing that it leads through /proc, perhaps by symbolic links such as /dev/fd. There each
// process finds itself in "self", and not this one.
func (l *Learner) throughProc(name string) bool {
	open := func(name string, flags uint64) (int, error) {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS}
		return unix.Openat2(l.root, name, &how)
	}
	if fd, err := open(name, 0); !errors.Is(err, unix.ELOOP) { // what is looked for in vain seldom has a link in its path
		if err == nil {
			unix.Close(fd)
		}
		return !absent(err)
	}
	at, links := "/", 0
	for todo := strings.Split(name, "/"); len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		next := path.Join(at, part)
		if part == "" || next == at {
			continue
		}
		fd, err := open(next, unix.O_NOFOLLOW)
		if err != nil {
			return !absent(err)
		}
		var fs unix.Statfs_t
		err = unix.Fstatfs(fd, &fs)
		var buf [unix.PathMax]byte
		n, noLink := unix.Readlinkat(fd, "", buf[:])
		unix.Close(fd)
		if err != nil || fs.Type == unix.PROC_SUPER_MAGIC {
			return true
		}
		if noLink != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return false
		}
		target := string(buf[:n])
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return false
}

// absent says that there is nothing at a path.
func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// proven says of a file that it has been executed as it is.
func (l *Learner) proven(f program) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.programs[f]
}

// prove notes that a file has been executed. l.mu is held.
func (l *Learner) prove(f program) {
	if f == (program{}) {
		return
	}
	if len(l.programs) >= maxPrograms {
		clear(l.programs)
	}
	l.programs[f] = true
}
