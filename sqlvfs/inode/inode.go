// Package inode is what is known of an inode, whether a database has it or a directory of the host: its attributes, its
// times, and by what one version of it is told from the next. It needs nothing else, so that a program that opens no
// database does not carry SQLite along.
package inode

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxIno is the first number that is not given to new inodes of a database. Numbers from here to 2^53, the last that
	// a JavaScript reader of the format holds exactly, stand for objects of a host tree.
	MaxIno = 1 << 52
	// XattrSizeMax is the largest value of an extended attribute, in bytes (XATTR_SIZE_MAX in linux/limits.h).
	XattrSizeMax = 64 << 10
)

// Timespec is a moment as the kernel counts it: seconds since 1970 and nanoseconds from 0 to
// 999,999,999.
type Timespec struct {
	Sec  int64
	Nsec int32
}

// Now is the present moment by the clock from which the kernel takes the times of files, which is a few milliseconds
// behind at most (inode_set_ctime_current in fs/inode.c). By a finer one, a file could come out newer than one that the
// kernel gives its time afterwards.
func Now() Timespec {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t); err != nil {
		panic(err) // Linux has had this clock since 2.6.32
	}
	return Timespec{t.Sec, int32(t.Nsec)}
}

// Valid tells whether the kernel could count a moment so.
func (t Timespec) Valid() bool { return t.Nsec >= 0 && t.Nsec < 1e9 }

// Time converts to the standard library's form.
func (t Timespec) Time() time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// After tells whether t is later than u.
func (t Timespec) After(u Timespec) bool { return t.Sec > u.Sec || t.Sec == u.Sec && t.Nsec > u.Nsec }

// Attr are an inode's attributes, with stat(2)'s meaning. Mode holds type and permission bits as
// the kernel does. UID and GID are the host's numbers.
type Attr struct {
	Mode                uint32
	Nlink               uint32
	UID, GID            uint32
	Rdev                uint32
	Pages               uint32 // 4096 bytes each, that an object of the host takes; of the database's it is not kept
	Size                int64  // bytes
	Atime, Mtime, Ctime Timespec
}

// Change moves the change time to now, and forward in any case: by that is told whether an inode has changed since both sides agreed on
// it, and it begins with the change time of the host's file. The clock stands still for milliseconds, in which both may change it.
func (a *Attr) Change(now Timespec) {
	if was := a.Ctime; !now.After(was) {
		now = Timespec{was.Sec, was.Nsec + 1}
		if now.Nsec == 1e9 {
			now = Timespec{was.Sec + 1, 0}
		}
	}
	a.Ctime = now
}

// IsDir tells whether the attributes are a directory's.
func (a *Attr) IsDir() bool { return a.Mode&syscall.S_IFMT == syscall.S_IFDIR }

// IsRegular tells whether the attributes are a regular file's.
func (a *Attr) IsRegular() bool { return a.Mode&syscall.S_IFMT == syscall.S_IFREG }

// IsSymlink tells whether the attributes are a symbolic link's.
func (a *Attr) IsSymlink() bool { return a.Mode&syscall.S_IFMT == syscall.S_IFLNK }

// Fingerprint tells one version of a host file from the next.
type Fingerprint struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime Timespec
}

// Number is the inode number shown for a host object of a tree whose root is on a device: the host's
// own, out of the way of the database's numbers, and below 2^53 (see MaxIno). Objects of other devices
// mounted in the tree, and numbers that do not fit, are folded into a space of their own.
func (f *Fingerprint) Number(root uint64) uint64 {
	const folded = 1 << 51
	if f.Dev == root && f.Ino < folded {
		return MaxIno | f.Ino
	}
	x := f.Ino ^ f.Dev*0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return MaxIno | folded | x&(folded-1)
}

// LinkedName is a path below the root at which the host shows a name of a file, without an entry, and the number of the inode that stands
// for the file.
type LinkedName struct {
	Path   string
	Ino    int64
	Beyond int64 // how many names the host has for the file that are not in the workspace
}
