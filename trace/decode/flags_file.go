package decode

import "golang.org/x/sys/unix"

// fileFlags are the flags and names of files and descriptors.
var fileFlags = map[string]*flagSet{
	"open": {"O_???", []flag{
		{unix.O_CREAT, "O_CREAT"}, {unix.O_EXCL, "O_EXCL"}, {unix.O_NOCTTY, "O_NOCTTY"}, {unix.O_TRUNC, "O_TRUNC"},
		{unix.O_APPEND, "O_APPEND"}, {unix.O_NONBLOCK, "O_NONBLOCK"}, {unix.O_SYNC, "O_SYNC"}, {unix.O_DSYNC, "O_DSYNC"},
		{unix.O_DIRECT, "O_DIRECT"}, {largeFile, "O_LARGEFILE"}, {unix.O_NOFOLLOW, "O_NOFOLLOW"}, {unix.O_NOATIME, "O_NOATIME"},
		{unix.O_CLOEXEC, "O_CLOEXEC"}, {unix.O_PATH, "O_PATH"}, {unix.O_TMPFILE, "O_TMPFILE"}, {unix.O_DIRECTORY, "O_DIRECTORY"},
		{unix.O_ASYNC, "FASYNC"}, {unix.O_SYNC &^ unix.O_DSYNC, "__O_SYNC"}, {unix.O_TMPFILE &^ unix.O_DIRECTORY, "__O_TMPFILE"},
	}},
	"access": {"?_OK", []flag{
		{0, "F_OK"}, {4, "R_OK"}, {2, "W_OK"}, {1, "X_OK"},
	}},
	"at": {"AT_???", []flag{
		{unix.AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, {unix.AT_REMOVEDIR, "AT_REMOVEDIR"}, {unix.AT_SYMLINK_FOLLOW, "AT_SYMLINK_FOLLOW"},
		{unix.AT_NO_AUTOMOUNT, "AT_NO_AUTOMOUNT"}, {unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"}, {unix.AT_RECURSIVE, "AT_RECURSIVE"},
	}},
	"at_eaccess": {"AT_???", []flag{
		{unix.AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, {unix.AT_EACCESS, "AT_EACCESS"}, {unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"},
	}},
	"statx_at": {"AT_???", []flag{
		{unix.AT_STATX_SYNC_AS_STAT, "AT_STATX_SYNC_AS_STAT"}, {unix.AT_STATX_FORCE_SYNC, "AT_STATX_FORCE_SYNC"},
		{unix.AT_STATX_DONT_SYNC, "AT_STATX_DONT_SYNC"},
	}},
	"statx": {"STATX_???", []flag{
		{unix.STATX_ALL, "STATX_ALL"}, {unix.STATX_BASIC_STATS, "STATX_BASIC_STATS"}, {unix.STATX_TYPE, "STATX_TYPE"},
		{unix.STATX_MODE, "STATX_MODE"}, {unix.STATX_NLINK, "STATX_NLINK"}, {unix.STATX_UID, "STATX_UID"},
		{unix.STATX_GID, "STATX_GID"}, {unix.STATX_ATIME, "STATX_ATIME"}, {unix.STATX_MTIME, "STATX_MTIME"},
		{unix.STATX_CTIME, "STATX_CTIME"}, {unix.STATX_INO, "STATX_INO"}, {unix.STATX_SIZE, "STATX_SIZE"},
		{unix.STATX_BLOCKS, "STATX_BLOCKS"}, {unix.STATX_BTIME, "STATX_BTIME"}, {unix.STATX_MNT_ID, "STATX_MNT_ID"},
		{unix.STATX_DIOALIGN, "STATX_DIOALIGN"}, {unix.STATX_MNT_ID_UNIQUE, "STATX_MNT_ID_UNIQUE"},
		{unix.STATX_SUBVOL, "STATX_SUBVOL"},
	}},
	"statx_attr": {"STATX_ATTR_???", []flag{
		{unix.STATX_ATTR_COMPRESSED, "STATX_ATTR_COMPRESSED"}, {unix.STATX_ATTR_IMMUTABLE, "STATX_ATTR_IMMUTABLE"},
		{unix.STATX_ATTR_APPEND, "STATX_ATTR_APPEND"}, {unix.STATX_ATTR_NODUMP, "STATX_ATTR_NODUMP"},
		{unix.STATX_ATTR_ENCRYPTED, "STATX_ATTR_ENCRYPTED"}, {unix.STATX_ATTR_AUTOMOUNT, "STATX_ATTR_AUTOMOUNT"},
		{unix.STATX_ATTR_MOUNT_ROOT, "STATX_ATTR_MOUNT_ROOT"}, {unix.STATX_ATTR_VERITY, "STATX_ATTR_VERITY"},
		{unix.STATX_ATTR_DAX, "STATX_ATTR_DAX"},
	}},
	"dirent": {"DT_???", []flag{
		{0, "DT_UNKNOWN"}, {1, "DT_FIFO"}, {2, "DT_CHR"}, {4, "DT_DIR"}, {6, "DT_BLK"}, {8, "DT_REG"}, {10, "DT_LNK"}, {12, "DT_SOCK"},
		{14, "DT_WHT"},
	}},
	"rename": {"RENAME_???", []flag{
		{unix.RENAME_NOREPLACE, "RENAME_NOREPLACE"}, {unix.RENAME_EXCHANGE, "RENAME_EXCHANGE"},
		{unix.RENAME_WHITEOUT, "RENAME_WHITEOUT"},
	}},
	"xattr": {"XATTR_???", []flag{
		{unix.XATTR_CREATE, "XATTR_CREATE"}, {unix.XATTR_REPLACE, "XATTR_REPLACE"},
	}},
	"mount": {"MS_???", []flag{
		{unix.MS_RDONLY, "MS_RDONLY"}, {unix.MS_NOSUID, "MS_NOSUID"}, {unix.MS_NODEV, "MS_NODEV"}, {unix.MS_NOEXEC, "MS_NOEXEC"},
		{unix.MS_SYNCHRONOUS, "MS_SYNCHRONOUS"}, {unix.MS_REMOUNT, "MS_REMOUNT"}, {unix.MS_MANDLOCK, "MS_MANDLOCK"},
		{unix.MS_DIRSYNC, "MS_DIRSYNC"}, {unix.MS_NOSYMFOLLOW, "MS_NOSYMFOLLOW"}, {unix.MS_NOATIME, "MS_NOATIME"},
		{unix.MS_NODIRATIME, "MS_NODIRATIME"}, {unix.MS_BIND, "MS_BIND"}, {unix.MS_MOVE, "MS_MOVE"}, {unix.MS_REC, "MS_REC"},
		{unix.MS_SILENT, "MS_SILENT"}, {unix.MS_POSIXACL, "MS_POSIXACL"}, {unix.MS_UNBINDABLE, "MS_UNBINDABLE"},
		{unix.MS_PRIVATE, "MS_PRIVATE"}, {unix.MS_SLAVE, "MS_SLAVE"}, {unix.MS_SHARED, "MS_SHARED"},
		{unix.MS_RELATIME, "MS_RELATIME"}, {unix.MS_KERNMOUNT, "MS_KERNMOUNT"}, {unix.MS_I_VERSION, "MS_I_VERSION"},
		{unix.MS_STRICTATIME, "MS_STRICTATIME"}, {unix.MS_LAZYTIME, "MS_LAZYTIME"}, {1 << 26, "MS_SUBMOUNT"},
	}},
	"umount": {"MNT_???", []flag{
		{unix.MNT_FORCE, "MNT_FORCE"}, {unix.MNT_DETACH, "MNT_DETACH"}, {unix.MNT_EXPIRE, "MNT_EXPIRE"},
		{unix.UMOUNT_NOFOLLOW, "UMOUNT_NOFOLLOW"},
	}},
	"inotify": {"IN_???", []flag{
		{unix.IN_ACCESS, "IN_ACCESS"}, {unix.IN_MODIFY, "IN_MODIFY"}, {unix.IN_ATTRIB, "IN_ATTRIB"},
		{unix.IN_CLOSE_WRITE, "IN_CLOSE_WRITE"}, {unix.IN_CLOSE_NOWRITE, "IN_CLOSE_NOWRITE"}, {unix.IN_OPEN, "IN_OPEN"},
		{unix.IN_MOVED_FROM, "IN_MOVED_FROM"}, {unix.IN_MOVED_TO, "IN_MOVED_TO"}, {unix.IN_CREATE, "IN_CREATE"},
		{unix.IN_DELETE, "IN_DELETE"}, {unix.IN_DELETE_SELF, "IN_DELETE_SELF"}, {unix.IN_MOVE_SELF, "IN_MOVE_SELF"},
		{unix.IN_UNMOUNT, "IN_UNMOUNT"}, {unix.IN_Q_OVERFLOW, "IN_Q_OVERFLOW"}, {unix.IN_IGNORED, "IN_IGNORED"},
		{unix.IN_ONLYDIR, "IN_ONLYDIR"}, {unix.IN_DONT_FOLLOW, "IN_DONT_FOLLOW"}, {unix.IN_EXCL_UNLINK, "IN_EXCL_UNLINK"},
		{unix.IN_MASK_CREATE, "IN_MASK_CREATE"}, {unix.IN_MASK_ADD, "IN_MASK_ADD"}, {unix.IN_ISDIR, "IN_ISDIR"},
		{unix.IN_ONESHOT, "IN_ONESHOT"},
	}},
	"rwf": {"RWF_???", []flag{
		{0x1, "RWF_HIPRI"}, {0x2, "RWF_DSYNC"}, {0x4, "RWF_SYNC"}, {0x8, "RWF_NOWAIT"}, {0x10, "RWF_APPEND"},
	}},
	"close_range": {"CLOSE_RANGE_???", []flag{
		{unix.CLOSE_RANGE_UNSHARE, "CLOSE_RANGE_UNSHARE"}, {unix.CLOSE_RANGE_CLOEXEC, "CLOSE_RANGE_CLOEXEC"},
	}},
	"seek": {"SEEK_???", []flag{
		{unix.SEEK_SET, "SEEK_SET"}, {unix.SEEK_CUR, "SEEK_CUR"}, {unix.SEEK_END, "SEEK_END"}, {unix.SEEK_DATA, "SEEK_DATA"},
		{unix.SEEK_HOLE, "SEEK_HOLE"},
	}},
	"falloc": {"FALLOC_FL_???", []flag{
		{unix.FALLOC_FL_KEEP_SIZE, "FALLOC_FL_KEEP_SIZE"}, {unix.FALLOC_FL_PUNCH_HOLE, "FALLOC_FL_PUNCH_HOLE"},
		{unix.FALLOC_FL_NO_HIDE_STALE, "FALLOC_FL_NO_HIDE_STALE"}, {unix.FALLOC_FL_COLLAPSE_RANGE, "FALLOC_FL_COLLAPSE_RANGE"},
		{unix.FALLOC_FL_ZERO_RANGE, "FALLOC_FL_ZERO_RANGE"}, {unix.FALLOC_FL_INSERT_RANGE, "FALLOC_FL_INSERT_RANGE"},
		{unix.FALLOC_FL_UNSHARE_RANGE, "FALLOC_FL_UNSHARE_RANGE"},
	}},
	"fadvise": {"POSIX_FADV_???", []flag{
		{0, "POSIX_FADV_NORMAL"}, {1, "POSIX_FADV_RANDOM"}, {2, "POSIX_FADV_SEQUENTIAL"}, {3, "POSIX_FADV_WILLNEED"},
		{4, "POSIX_FADV_DONTNEED"}, {5, "POSIX_FADV_NOREUSE"},
	}},
	"lock": {"LOCK_???", []flag{
		{unix.LOCK_SH, "LOCK_SH"}, {unix.LOCK_EX, "LOCK_EX"}, {unix.LOCK_UN, "LOCK_UN"}, {unix.LOCK_NB, "LOCK_NB"},
		{32, "LOCK_MAND"}, {64, "LOCK_READ"}, {128, "LOCK_WRITE"},
	}},
	"fcntl": {"F_???", []flag{
		{unix.F_DUPFD, "F_DUPFD"}, {unix.F_GETFD, "F_GETFD"}, {unix.F_SETFD, "F_SETFD"}, {unix.F_GETFL, "F_GETFL"},
		{unix.F_SETFL, "F_SETFL"}, {unix.F_GETLK, "F_GETLK"}, {unix.F_SETLK, "F_SETLK"}, {unix.F_SETLKW, "F_SETLKW"},
		{unix.F_SETOWN, "F_SETOWN"}, {unix.F_GETOWN, "F_GETOWN"}, {unix.F_SETSIG, "F_SETSIG"}, {unix.F_GETSIG, "F_GETSIG"},
		{unix.F_SETOWN_EX, "F_SETOWN_EX"}, {unix.F_GETOWN_EX, "F_GETOWN_EX"}, {unix.F_OFD_GETLK, "F_OFD_GETLK"},
		{unix.F_OFD_SETLK, "F_OFD_SETLK"}, {unix.F_OFD_SETLKW, "F_OFD_SETLKW"}, {unix.F_SETLEASE, "F_SETLEASE"},
		{unix.F_GETLEASE, "F_GETLEASE"}, {unix.F_NOTIFY, "F_NOTIFY"}, {unix.F_DUPFD_CLOEXEC, "F_DUPFD_CLOEXEC"},
		{unix.F_SETPIPE_SZ, "F_SETPIPE_SZ"}, {unix.F_GETPIPE_SZ, "F_GETPIPE_SZ"}, {unix.F_ADD_SEALS, "F_ADD_SEALS"},
		{unix.F_GET_SEALS, "F_GET_SEALS"}, {unix.F_GET_RW_HINT, "F_GET_RW_HINT"}, {unix.F_SET_RW_HINT, "F_SET_RW_HINT"},
	}},
	"fd": {"FD_???", []flag{
		{unix.FD_CLOEXEC, "FD_CLOEXEC"},
	}},
	"locktype": {"F_???", []flag{
		{unix.F_RDLCK, "F_RDLCK"}, {unix.F_WRLCK, "F_WRLCK"}, {unix.F_UNLCK, "F_UNLCK"},
	}},
	"splice": {"SPLICE_F_???", []flag{
		{1, "SPLICE_F_MOVE"}, {2, "SPLICE_F_NONBLOCK"}, {4, "SPLICE_F_MORE"}, {8, "SPLICE_F_GIFT"},
	}},
	"memfd": {"MFD_???", []flag{
		{unix.MFD_CLOEXEC, "MFD_CLOEXEC"}, {unix.MFD_ALLOW_SEALING, "MFD_ALLOW_SEALING"}, {unix.MFD_HUGETLB, "MFD_HUGETLB"},
		{unix.MFD_NOEXEC_SEAL, "MFD_NOEXEC_SEAL"}, {unix.MFD_EXEC, "MFD_EXEC"},
	}},
	"efd": {"EFD_???", []flag{
		{unix.EFD_SEMAPHORE, "EFD_SEMAPHORE"}, {unix.EFD_CLOEXEC, "EFD_CLOEXEC"}, {unix.EFD_NONBLOCK, "EFD_NONBLOCK"},
	}},
	"tfd": {"TFD_???", []flag{
		{1, "TFD_TIMER_ABSTIME"}, {2, "TFD_TIMER_CANCEL_ON_SET"}, {unix.TFD_CLOEXEC, "TFD_CLOEXEC"},
		{unix.TFD_NONBLOCK, "TFD_NONBLOCK"},
	}},
	"sfd": {"SFD_???", []flag{
		{unix.SFD_CLOEXEC, "SFD_CLOEXEC"}, {unix.SFD_NONBLOCK, "SFD_NONBLOCK"},
	}},
	"in_init": {"IN_???", []flag{
		{unix.IN_NONBLOCK, "IN_NONBLOCK"}, {unix.IN_CLOEXEC, "IN_CLOEXEC"},
	}},
	"poll": {"POLL???", []flag{
		{unix.POLLIN, "POLLIN"}, {unix.POLLPRI, "POLLPRI"}, {unix.POLLOUT, "POLLOUT"}, {0x40, "POLLRDNORM"}, {0x80, "POLLRDBAND"},
		{0x100, "POLLWRNORM"}, {0x200, "POLLWRBAND"}, {0x400, "POLLMSG"}, {0x1000, "POLLREMOVE"}, {unix.POLLRDHUP, "POLLRDHUP"},
		{unix.POLLERR, "POLLERR"}, {unix.POLLHUP, "POLLHUP"}, {unix.POLLNVAL, "POLLNVAL"},
	}},
	"epoll_create": {"EPOLL_???", []flag{
		{unix.EPOLL_CLOEXEC, "EPOLL_CLOEXEC"},
	}},
	"epoll_op": {"EPOLL_CTL_???", []flag{
		{unix.EPOLL_CTL_ADD, "EPOLL_CTL_ADD"}, {unix.EPOLL_CTL_MOD, "EPOLL_CTL_MOD"}, {unix.EPOLL_CTL_DEL, "EPOLL_CTL_DEL"},
	}},
	"epoll": {"EPOLL???", []flag{
		{unix.EPOLLIN, "EPOLLIN"}, {unix.EPOLLPRI, "EPOLLPRI"}, {unix.EPOLLOUT, "EPOLLOUT"}, {unix.EPOLLRDNORM, "EPOLLRDNORM"},
		{unix.EPOLLRDBAND, "EPOLLRDBAND"}, {unix.EPOLLWRNORM, "EPOLLWRNORM"}, {unix.EPOLLWRBAND, "EPOLLWRBAND"},
		{unix.EPOLLMSG, "EPOLLMSG"}, {unix.EPOLLERR, "EPOLLERR"}, {unix.EPOLLHUP, "EPOLLHUP"}, {unix.EPOLLRDHUP, "EPOLLRDHUP"},
		{unix.EPOLLEXCLUSIVE, "EPOLLEXCLUSIVE"}, {unix.EPOLLWAKEUP, "EPOLLWAKEUP"}, {unix.EPOLLONESHOT, "EPOLLONESHOT"},
		{unix.EPOLLET, "EPOLLET"},
	}},
	"statfs": {"ST_???", []flag{
		{0x20, "ST_VALID"}, {1, "ST_RDONLY"}, {2, "ST_NOSUID"}, {4, "ST_NODEV"}, {8, "ST_NOEXEC"}, {16, "ST_SYNCHRONOUS"},
		{64, "ST_MANDLOCK"}, {1024, "ST_NOATIME"}, {2048, "ST_NODIRATIME"}, {4096, "ST_RELATIME"},
	}},
	"filetype": {"S_IF???", []flag{
		{unix.S_IFSOCK, "S_IFSOCK"}, {unix.S_IFLNK, "S_IFLNK"}, {unix.S_IFREG, "S_IFREG"}, {unix.S_IFBLK, "S_IFBLK"},
		{unix.S_IFDIR, "S_IFDIR"}, {unix.S_IFCHR, "S_IFCHR"}, {unix.S_IFIFO, "S_IFIFO"},
	}},
}
