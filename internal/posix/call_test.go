package posix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// performer makes the calls of stories, in the current directory.
type performer struct {
	where string         // side and story
	open  map[string]int // descriptors of the story, by side, story and name
	notes map[string]map[uint64]string
}

// call makes a call and returns what came of it: "ok", what was read, or the error's name.
func (p *performer) call(args []string) string {
	f, ok := vocabulary[args[0]]
	if !ok {
		panic("there is no call " + args[0])
	}
	result, err := f(p, arguments(args[1:]))
	switch err := err.(type) {
	case nil:
		if result == "" {
			return "ok"
		}
		return result
	case syscall.Errno:
		return unix.ErrnoName(err)
	default:
		panic(fmt.Sprintf("%q: %v", args, err))
	}
}

// arguments are a call's words; what is missing is empty.
type arguments []string

func (a arguments) str(i int) string {
	if i < len(a) {
		return a[i]
	}
	return ""
}

func (a arguments) num(i int) int64 { return number(a.str(i), 10) }
func (a arguments) mode(i int) uint32 {
	return uint32(number(a.str(i), 8))
}

func number(s string, base int) int64 {
	n, err := strconv.ParseInt(s, base, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// id is a user's or group's number, by the name of one of the cast; -1 leaves it alone.
func (a arguments) id(i int) int {
	if p, ok := cast[a.str(i)]; ok {
		return p.id
	}
	return int(a.num(i))
}

var flagNames = map[string]int{
	"RDONLY": unix.O_RDONLY, "WRONLY": unix.O_WRONLY, "RDWR": unix.O_RDWR, "CREAT": unix.O_CREAT,
	"EXCL": unix.O_EXCL, "TRUNC": unix.O_TRUNC, "APPEND": unix.O_APPEND, "DIRECTORY": unix.O_DIRECTORY,
	"NOFOLLOW": unix.O_NOFOLLOW, "PATH": unix.O_PATH, "SYNC": unix.O_SYNC,
	"NOATIME": unix.O_NOATIME, "TMPFILE": unix.O_TMPFILE, "SYMLINK_NOFOLLOW": unix.AT_SYMLINK_NOFOLLOW,
	"SYMLINK_FOLLOW": unix.AT_SYMLINK_FOLLOW, "EMPTY_PATH": unix.AT_EMPTY_PATH, "REMOVEDIR": unix.AT_REMOVEDIR,
	"EACCESS": unix.AT_EACCESS, "NOREPLACE": unix.RENAME_NOREPLACE, "EXCHANGE": unix.RENAME_EXCHANGE,
	"KEEP_SIZE": unix.FALLOC_FL_KEEP_SIZE, "PUNCH_HOLE": unix.FALLOC_FL_PUNCH_HOLE, "ZERO_RANGE": unix.FALLOC_FL_ZERO_RANGE,
	"XATTR_CREATE": unix.XATTR_CREATE, "XATTR_REPLACE": unix.XATTR_REPLACE, "NONE": 0,
}

func (a arguments) flags(i int) int {
	flags := 0
	for name := range strings.SplitSeq(a.str(i), "|") {
		f, ok := flagNames[name]
		if !ok {
			panic("there is no flag " + name)
		}
		flags |= f
	}
	return flags
}

var typeNames = map[string]uint32{
	"reg": unix.S_IFREG, "dir": unix.S_IFDIR, "fifo": unix.S_IFIFO, "sock": unix.S_IFSOCK,
	"blk": unix.S_IFBLK, "chr": unix.S_IFCHR, "sym": unix.S_IFLNK,
}

// times are the two that utimensat(2) sets: "now", "omit", or seconds and nanoseconds, "3.000000004".
func (a arguments) times(i int) []unix.Timespec {
	var list []unix.Timespec
	for _, s := range []string{a.str(i), a.str(i + 1)} {
		switch s {
		case "now":
			list = append(list, unix.Timespec{Nsec: unix.UTIME_NOW})
		case "omit":
			list = append(list, unix.Timespec{Nsec: unix.UTIME_OMIT})
		default:
			sec, nsec, _ := strings.Cut(s, ".")
			list = append(list, unix.Timespec{Sec: number(sec, 10), Nsec: number(nsec, 10)})
		}
	}
	return list
}

// fd is a descriptor that the story has opened.
func (p *performer) fd(a arguments, i int) int {
	fd, ok := p.open[p.where+" "+a.str(i)]
	if !ok {
		return -1
	}
	return fd
}

// closeAll closes what stories have left open.
func (p *performer) closeAll() {
	for name, fd := range p.open {
		unix.Close(fd)
		delete(p.open, name)
	}
}

// made finishes an object that a story begins with: exactly this mode and owner, however it came.
func made(a arguments, err error) (string, error) {
	if err == nil && len(a) > 2 {
		err = unix.Lchown(a.str(0), a.id(2), a.id(3))
	}
	if err == nil {
		err = unix.Chmod(a.str(0), a.mode(1))
	}
	return "", err
}

type callFunc func(p *performer, a arguments) (string, error)

// plain is a call that gives no result but its error.
func plain(f func(p *performer, a arguments) error) callFunc {
	return func(p *performer, a arguments) (string, error) { return "", f(p, a) }
}

// special makes a node of a type for a story to begin with: PATH MODE [USER GROUP].
func special(kind string) callFunc {
	return func(p *performer, a arguments) (string, error) {
		return made(a, unix.Mknod(a.str(0), typeNames[kind]|a.mode(1), int(unix.Mkdev(1, 3))))
	}
}

// vocabulary is what may happen in a story.
var vocabulary map[string]callFunc

func init() {
	vocabulary = map[string]callFunc{
		// What stories begin with: PATH MODE [USER GROUP].
		"reg": func(p *performer, a arguments) (string, error) {
			fd, err := unix.Open(a.str(0), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			if _, err := unix.Write(fd, []byte("content of a file")); err != nil {
				return "", err
			}
			return made(a, nil)
		},
		"dir":  func(p *performer, a arguments) (string, error) { return made(a, unix.Mkdir(a.str(0), 0o700)) },
		"fifo": special("fifo"), "sock": special("sock"), "blk": special("blk"), "chr": special("chr"),
		// PATH TARGET [USER GROUP]
		"sym": func(p *performer, a arguments) (string, error) {
			err := unix.Symlink(a.str(1), a.str(0))
			if err == nil && len(a) > 2 {
				err = unix.Lchown(a.str(0), a.id(2), a.id(3))
			}
			return "", err
		},

		"chmod":     plain(func(p *performer, a arguments) error { return unix.Chmod(a.str(0), a.mode(1)) }),
		"fchmod":    plain(func(p *performer, a arguments) error { return unix.Fchmod(p.fd(a, 0), a.mode(1)) }),
		"chown":     plain(func(p *performer, a arguments) error { return unix.Chown(a.str(0), a.id(1), a.id(2)) }),
		"lchown":    plain(func(p *performer, a arguments) error { return unix.Lchown(a.str(0), a.id(1), a.id(2)) }),
		"fchown":    plain(func(p *performer, a arguments) error { return unix.Fchown(p.fd(a, 0), a.id(1), a.id(2)) }),
		"truncate":  plain(func(p *performer, a arguments) error { return unix.Truncate(a.str(0), a.num(1)) }),
		"ftruncate": plain(func(p *performer, a arguments) error { return unix.Ftruncate(p.fd(a, 0), a.num(1)) }),
		"fallocate": plain(func(p *performer, a arguments) error {
			return unix.Fallocate(p.fd(a, 0), uint32(a.flags(1)), a.num(2), a.num(3))
		}),
		// PATH NAME VALUE FLAGS
		"setxattr": plain(func(p *performer, a arguments) error {
			return unix.Setxattr(a.str(0), a.str(1), []byte(a.str(2)), a.flags(3))
		}),
		"lsetxattr": plain(func(p *performer, a arguments) error {
			return unix.Lsetxattr(a.str(0), a.str(1), []byte(a.str(2)), a.flags(3))
		}),
		"removexattr": plain(func(p *performer, a arguments) error { return unix.Removexattr(a.str(0), a.str(1)) }),
		"getxattr": func(p *performer, a arguments) (string, error) {
			buf := make([]byte, 1<<16)
			n, err := unix.Getxattr(a.str(0), a.str(1), buf)
			return strconv.Quote(string(buf[:max(n, 0)])), err
		},
		"lgetxattr": func(p *performer, a arguments) (string, error) {
			buf := make([]byte, 1<<16)
			n, err := unix.Lgetxattr(a.str(0), a.str(1), buf)
			return strconv.Quote(string(buf[:max(n, 0)])), err
		},
		"listxattr": func(p *performer, a arguments) (string, error) {
			buf := make([]byte, 1<<16)
			n, err := unix.Listxattr(a.str(0), buf)
			names := strings.Split(strings.TrimRight(string(buf[:max(n, 0)]), "\x00"), "\x00")
			slices.Sort(names)
			return fmt.Sprintf("%q", names), err
		},
		"link": plain(func(p *performer, a arguments) error { return unix.Link(a.str(0), a.str(1)) }),
		"linkat": plain(func(p *performer, a arguments) error {
			return unix.Linkat(unix.AT_FDCWD, a.str(0), unix.AT_FDCWD, a.str(1), a.flags(2))
		}),
		"linkfd": plain(func(p *performer, a arguments) error {
			old := fmt.Sprintf("/proc/self/fd/%d", p.fd(a, 0))
			return unix.Linkat(unix.AT_FDCWD, old, unix.AT_FDCWD, a.str(1), unix.AT_SYMLINK_FOLLOW)
		}),
		"mkdir":  plain(func(p *performer, a arguments) error { return unix.Mkdir(a.str(0), a.mode(1)) }),
		"mkfifo": plain(func(p *performer, a arguments) error { return unix.Mkfifo(a.str(0), a.mode(1)) }),
		"mknod": plain(func(p *performer, a arguments) error {
			dev := 0
			if len(a) > 3 {
				dev = int(unix.Mkdev(uint32(a.num(3)), uint32(a.num(4))))
			}
			return unix.Mknod(a.str(0), typeNames[a.str(1)]|a.mode(2), dev)
		}),
		"rename": plain(func(p *performer, a arguments) error { return unix.Rename(a.str(0), a.str(1)) }),
		"renameat2": plain(func(p *performer, a arguments) error {
			return unix.Renameat2(unix.AT_FDCWD, a.str(0), unix.AT_FDCWD, a.str(1), uint(a.flags(2)))
		}),
		"rmdir":   plain(func(p *performer, a arguments) error { return unix.Rmdir(a.str(0)) }),
		"unlink":  plain(func(p *performer, a arguments) error { return unix.Unlink(a.str(0)) }),
		"symlink": plain(func(p *performer, a arguments) error { return unix.Symlink(a.str(0), a.str(1)) }),
		"access":  plain(func(p *performer, a arguments) error { return unix.Access(a.str(0), uint32(a.num(1))) }),
		"chdir":   plain(func(p *performer, a arguments) error { return unix.Chdir(a.str(0)) }),
		"umask":   plain(func(p *performer, a arguments) error { unix.Umask(int(a.mode(0))); return nil }),
		// PATH ATIME MTIME [FLAGS]
		"utimens": plain(func(p *performer, a arguments) error {
			flags := 0
			if len(a) > 3 {
				flags = a.flags(3)
			}
			return unix.UtimesNanoAt(unix.AT_FDCWD, a.str(0), a.times(1), flags)
		}),
		"futimens": plain(func(p *performer, a arguments) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", p.fd(a, 0)), a.times(1), 0)
		}),
		"close": plain(func(p *performer, a arguments) error {
			err := unix.Close(p.fd(a, 0))
			delete(p.open, p.where+" "+a.str(0))
			return err
		}),
		// NAME PATH FLAGS [MODE]
		"open": func(p *performer, a arguments) (string, error) {
			mode := uint32(0)
			if len(a) > 3 {
				mode = a.mode(3)
			}
			// Nobody waits for the other end of a fifo.
			fd, err := unix.Open(a.str(1), a.flags(2)|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
			if err == nil {
				p.open[p.where+" "+a.str(0)] = fd
			}
			return "", err
		},
		"read": func(p *performer, a arguments) (string, error) {
			buf := make([]byte, a.num(1))
			n, err := unix.Read(p.fd(a, 0), buf)
			return strconv.Quote(string(buf[:max(n, 0)])), err
		},
		"write": func(p *performer, a arguments) (string, error) {
			n, err := unix.Write(p.fd(a, 0), []byte(a.str(1)))
			return strconv.Itoa(n), err
		},
		"pwrite": func(p *performer, a arguments) (string, error) {
			n, err := unix.Pwrite(p.fd(a, 0), []byte(a.str(2)), a.num(1))
			return strconv.Itoa(n), err
		},
		"lseek": func(p *performer, a arguments) (string, error) {
			n, err := unix.Seek(p.fd(a, 0), a.num(1), int(a.num(2)))
			return strconv.FormatInt(n, 10), err
		},
		"readlink": func(p *performer, a arguments) (string, error) {
			buf := make([]byte, unix.PathMax+1)
			n, err := unix.Readlink(a.str(0), buf)
			return strconv.Quote(string(buf[:max(n, 0)])), err
		},
		"stat": func(p *performer, a arguments) (string, error) {
			var st unix.Stat_t
			err := unix.Stat(a.str(0), &st)
			return describe(&st), err
		},
		"lstat": func(p *performer, a arguments) (string, error) {
			var st unix.Stat_t
			err := unix.Lstat(a.str(0), &st)
			return describe(&st), err
		},
		"fstat": func(p *performer, a arguments) (string, error) {
			var st unix.Stat_t
			err := unix.Fstat(p.fd(a, 0), &st)
			return describe(&st), err
		},
		"ls": func(p *performer, a arguments) (string, error) {
			list, err := readDir(a.str(0), 0)
			names := make([]string, len(list))
			for i, e := range list {
				names[i] = strconv.Quote(e.name)
			}
			return "[" + strings.Join(names, " ") + "]", err
		},

		// The director's own.
		"age":   plain(func(p *performer, a arguments) error { return age(".") }),
		"note":  plain(func(p *performer, a arguments) error { return p.note(a) }),
		"hold":  plain(func(p *performer, a arguments) error { return p.hold() }),
		"touch": plain(func(p *performer, a arguments) error { return touch(a) }),
		"paths": func(p *performer, a arguments) (string, error) {
			paths, err := pathsOf(".")
			return fmt.Sprintf("%q", paths), err
		},
		"portrait": func(p *performer, a arguments) (string, error) { return p.portrait(a.num(0)) },
		"end":      plain(func(p *performer, a arguments) error { p.closeAll(); return nil }),
	}
}
