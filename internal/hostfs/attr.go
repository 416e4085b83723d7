package hostfs

import (
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/inode"
)

// Stat returns the attributes of an open object.
func Stat(f *os.File) (st unix.Stat_t, err error) {
	err = unix.Fstat(int(f.Fd()), &st)
	return st, err
}

// StatAt returns the attributes of a directory's entry; a symbolic link's own.
func StatAt(d *os.File, name string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// Attr is what the kernel says of an object, as the database has it.
func Attr(st *unix.Stat_t) inode.Attr {
	return inode.Attr{
		Mode: st.Mode, Nlink: uint32(st.Nlink), UID: st.Uid, GID: st.Gid, Rdev: encodeDev(uint64(st.Rdev)), Size: st.Size,
		Pages: uint32(min((st.Blocks+7)/8, math.MaxUint32)),
		Atime: Timespec(st.Atim), Mtime: Timespec(st.Mtim), Ctime: Timespec(st.Ctim),
	}
}

// Fingerprint is by what a version of an object is known.
func Fingerprint(st *unix.Stat_t) inode.Fingerprint {
	return inode.Fingerprint{Dev: st.Dev, Ino: st.Ino, Size: st.Size, Mtime: Timespec(st.Mtim), Ctime: Timespec(st.Ctim)}
}

// Birth returns when an object was made; ok is false where its file system does not tell.
func Birth(fd int) (t inode.Timespec, ok bool) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return t, false
	}
	return inode.Timespec{Sec: st.Btime.Sec, Nsec: int32(st.Btime.Nsec)}, true
}

// SameObject tells whether two fingerprints are of one object, if of different versions.
func SameObject(a, b inode.Fingerprint) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// Timespec is a time of the kernel as the database has it.
func Timespec(t unix.Timespec) inode.Timespec {
	return inode.Timespec{Sec: int64(t.Sec), Nsec: int32(t.Nsec)}
}

// encodeDev packs a device number as FUSE and the kernel's 32-bit interfaces do (new_encode_dev in
// linux/kdev_t.h).
func encodeDev(dev uint64) uint32 {
	major, minor := unix.Major(dev), unix.Minor(dev)
	return minor&0xff | major<<8 | (minor&^0xff)<<12
}

// KindName says what an object with a mode is.
func KindName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFREG:
		return "file"
	case unix.S_IFLNK:
		return "symbolic link"
	case unix.S_IFSOCK:
		return "socket"
	case unix.S_IFIFO:
		return "named pipe"
	case unix.S_IFBLK, unix.S_IFCHR:
		return "device"
	}
	return "unknown file type"
}
