// Package fs is the tree that a guest sees: the contract of a file system, the overlay that
// fulfils it, the read-only host tree beneath, and the bridge that serves it through FUSE.
//
// [FileSystem] is the contract. [Overlay] implements it: a tree in a database (package sqlvfs, the
// delta) laid over a directory of the host ([Host], the base). [Server] serves any
// FileSystem to the kernel, by package wire. Nothing here knows of sandboxes.
//
// # The origin
//
// Every inode of the delta may have an origin, the object of the base that supplies what the delta
// does not hold: a directory shows the origin's entries that it neither overrides nor whites out,
// a regular file reads the origin's content where it has no chunk of its own. An object of the
// base that was never changed has no row at all. So a chmod, a rename, or a link of something in
// the base is one row; renaming a directory of any size is one row and one whiteout; and a
// directory without an origin is opaque by itself, but for two kinds (mergedir.go).
package fs

import (
	"time"

	"github.com/riverlytech/art/sqlvfs"
)

// Ino is an inode number as programs see it, and as the kernel names nodes. The root is RootIno.
type Ino uint64

// RootIno is the root directory (FUSE_ROOT_ID, linux/fuse.h).
const RootIno Ino = 1

const (
	// Forever is for how long the kernel may keep what only we can change.
	Forever = 365 * 24 * time.Hour
	// BaseTTL is for how long the kernel may keep what the host can change without our hearing of it.
	BaseTTL = time.Second
)

// Entry is what the kernel learns of an inode: its number, its attributes, and for how long it may
// keep the name under which it was found, and the attributes. Ino 0 says that there is no such name,
// which may be kept for TTL too.
type Entry struct {
	Ino     Ino
	Attr    sqlvfs.Attr
	Blocks  int64 // of 512 bytes, that it takes; below 0: what its size takes
	TTL     time.Duration
	AttrTTL time.Duration
}

// Caller is the process that asks, by its ids in the mount's user namespace, and with the umask for what it makes.
type Caller struct {
	UID, GID, Umask uint32
	// By is whose the change is.
	By Author
}

// Author is whose a change is: a process of the database's log of them (sqlvfs.Process). Mapped says that it was made through a mapping
// of the file, of which the kernel does not tell whose it is. Guest says that somebody is told of it, whoever it is of
// (sqlvfs.Options.OnCommit).
type Author struct {
	Process int64
	Mapped  bool
	Guest   bool
}

// nobody is whose a change is of whom nothing is known.
var nobody Author

// Authors knows whose the requests of a kernel are.
type Authors interface {
	// Author returns whose a request is that changes a file, or with inode 0 something else, by the thread's id; 0 for what the
	// kernel writes that was changed through a mapping.
	Author(tid uint32, ino Ino) Author
}

// SetAttr says which attributes to change; nil leaves one alone. Mode holds permission bits only.
type SetAttr struct {
	Mode, UID, GID *uint32
	Size           *int64
	Atime, Mtime   *sqlvfs.Timespec
}

// Statfs is the state of the disk, in blocks of BlockSize bytes.
type Statfs struct {
	BlockSize                           uint32
	Blocks, BlocksFree, BlocksAvailable uint64
	Inodes, InodesFree                  uint64
}

// Cache is what the kernel has cached of a FileSystem. The error is syscall.ENOENT when there is
// nothing cached.
type Cache interface {
	// InvalidateEntry has the kernel forget what a name means, and all below it. It waits for whoever
	// reads or changes the directory, so nothing that an operation needs may be held, and no
	// operation may wait for it.
	InvalidateEntry(parent Ino, name string) error
	// ExpireEntry has the kernel ask what a name means before it uses it again: what is mounted there stays, if it means what
	// it meant. It waits as InvalidateEntry does. The error is syscall.ENOSYS when the kernel cannot be told that.
	ExpireEntry(parent Ino, name string) error
	// InvalidateInode has the kernel forget an inode's attributes and content; of a directory, its
	// list. It waits for whoever reads the content.
	InvalidateInode(ino Ino) error
	// InvalidateAttr has the kernel forget an inode's attributes only. It waits for no operation.
	InvalidateAttr(ino Ino) error
	// Prune has the kernel let go of those inodes that nobody uses. A Forget of each comes afterwards. The error is
	// syscall.EINVAL when it cannot be told that.
	Prune(inos []Ino) error
}

// FileSystem is what the kernel asks of a file system through FUSE. Files and directories are not
// opened: the kernel does that by itself, and holds an inode for as long as anyone has it open, also
// when it has no name any more. Permissions and the types of operands are the kernel's to check
// (mount option default_permissions); names are not "." or "..".
//
// To entries that Lookup, the making operations and ReadDir with plus hand out, the kernel refers
// until it has given back as many with Forget.
//
// All methods may be called at once by several goroutines. Sizes and offsets are in bytes.
//
// Every error is a syscall.Errno, or one that [sqlvfs.Errno] translates. Those that any method may return are not named
// below: ESTALE for an inode that is not live, or whose object in the base is another by now; EACCES for what of the base
// this process may not read; [sqlvfs.ErrBaseChanged] and [sqlvfs.ErrNoBase] for a file whose content is partly in a version
// of the base that is gone; and EIO for what a disk could not read. Methods that change something also return EROFS, or
// what the disk said to the last commit, as ENOSPC; they wait while too much is not committed. Then nothing was changed,
// but that a file may have lost its set-user-ID bit to an attempt to change its content.
type FileSystem interface {
	// Connect is called before anything else by who serves the file system to a kernel, to have
	// its cache follow changes that are made elsewhere, and disconnect, once, afterwards.
	Connect(c Cache) (disconnect func())
	// Volatile tells whether content may change without the cache being told. Then that may only be
	// used for as long as attributes may be kept.
	Volatile() bool
	// MayHang tells whether operations may wait for something beyond this machine's disks, such as a network.
	MayHang() bool
	// HasACL tells whether there may be access control lists, which the kernel then asks for when it checks permissions.
	HasACL() bool

	// Lookup finds a name in a directory, or returns an Entry of Ino 0 when there is none. ENAMETOOLONG.
	Lookup(parent Ino, name string) (Entry, error)
	// Forget ends n of the references that the kernel has to an inode.
	Forget(ino Ino, n uint64)
	// Getattr returns an inode's attributes.
	Getattr(ino Ino) (Entry, error)
	// Birth returns when an inode was made; ok is false where that is not known.
	Birth(ino Ino) (t sqlvfs.Timespec, ok bool, err error)
	// Setattr changes attributes, and cuts or lengthens a file, as one step. EINVAL for the size of what is no regular
	// file, EFBIG beyond the largest.
	Setattr(c Caller, ino Ino, set SetAttr) (Entry, error)
	// Readlink returns a symbolic link's target.
	Readlink(ino Ino) (string, error)

	// Listxattr returns the names of an inode's extended attributes, those that c may see.
	Listxattr(c Caller, ino Ino) ([]string, error)
	// Getxattr returns an extended attribute's value. ENODATA if there is none, EOPNOTSUPP in a namespace that there is
	// not, EINVAL for the name of a namespace alone.
	Getxattr(ino Ino, name string) ([]byte, error)
	// Setxattr sets an extended attribute; flags are those of setxattr(2), and wire.SetxattrKillSGID. Errors as for Getxattr, EEXIST with
	// XATTR_CREATE, ENODATA with XATTR_REPLACE, ENOSPC for more names than an inode can have, E2BIG for a value.
	Setxattr(c Caller, ino Ino, name string, value []byte, flags uint32) error
	// Removexattr removes an extended attribute. Errors as for Getxattr.
	Removexattr(c Caller, ino Ino, name string) error

	// Mknod makes a regular file, a fifo, a socket or a device; mode has type and permissions. As all that make a name:
	// EEXIST, ENAMETOOLONG, ENOENT in a directory that was removed, EPERM for a name that is not to be had.
	Mknod(c Caller, parent Ino, name string, mode, rdev uint32) (Entry, error)
	// Tmpfile makes a regular file that has no name, for a directory; mode has permissions. Link may give it one, once. A file
	// that has none goes with its last reference.
	Tmpfile(c Caller, parent Ino, mode uint32) (Entry, error)
	// Mkdir makes a directory; mode has permissions only.
	Mkdir(c Caller, parent Ino, name string, mode uint32) (Entry, error)
	// Symlink makes a symbolic link. ENOENT for an empty target.
	Symlink(c Caller, parent Ino, name, target string) (Entry, error)
	// Link gives an inode another name. EPERM for a directory, ENOENT for what has no name left.
	Link(c Caller, ino Ino, parent Ino, name string) (Entry, error)
	// Unlink removes the name of what is no directory. The inode goes with its last name and reference. ENOENT, EISDIR.
	Unlink(c Caller, parent Ino, name string) error
	// Rmdir removes an empty directory. ENOENT, ENOTDIR, ENOTEMPTY.
	Rmdir(c Caller, parent Ino, name string) error
	// Rename moves a name, over what has the new one, as rename(2) does, in one step. ENOENT, ENOTDIR, EISDIR, ENOTEMPTY,
	// ENAMETOOLONG; EPERM for a name that is not to be had, EXDEV for a directory that can only be copied. flags are those of
	// renameat2(2): with RENAME_NOREPLACE, EEXIST for a name that is taken; with RENAME_EXCHANGE, both names change places.
	// EINVAL for others.
	Rename(c Caller, oldParent Ino, oldName string, newParent Ino, newName string, flags uint32) error

	// Read reads a regular file like io.ReaderAt, but without an error at its end.
	Read(ino Ino, p []byte, off int64) (int, error)
	// TryRead is Read for a caller that must not wait long: ok is false if it would, or if there is an error.
	TryRead(ino Ino, p []byte, off int64) (n int, ok bool)
	// Write writes all of p, and keeps nothing of it. What made the file run with more rights than its caller's is taken
	// away if c may not keep it. EFBIG beyond the largest size, EINVAL for what is no regular file.
	Write(c Caller, ino Ino, p []byte, off int64) error
	// Append is Write at the end of the file, which the kernel takes to be at off. The file may be longer by now.
	Append(c Caller, ino Ino, p []byte, off int64) error
	// Allocate is fallocate(2). EOPNOTSUPP for modes other than KEEP_SIZE, PUNCH_HOLE and ZERO_RANGE; otherwise as
	// Write. A large range is zeroed in more than one step.
	Allocate(c Caller, ino Ino, mode uint32, off, length int64) error
	// CopyRange is copy_file_range(2): length bytes of a regular file, from off on, become content of another one, or of
	// another place of it, as if they were read and written. It returns how many were copied, which may be fewer. Errors
	// as for Write, if there are none that were copied.
	CopyRange(c Caller, from Ino, off int64, to Ino, at, length int64) (int64, error)
	// Seek is lseek(2) with SEEK_DATA, or with SEEK_HOLE: where the next of these begins, not before off. ENXIO if off
	// is not before the end, and where there is no more data; EINVAL for what is no regular file.
	Seek(ino Ino, off int64, hole bool) (int64, error)
	// ReadDir passes a directory's entries to emit, starting behind the one whose Offset is given (0:
	// from the start, looking afresh), until emit returns false or there are no more. With plus,
	// entries are looked up, and those that emit takes are referred to as by Lookup. emit must not call the file system.
	// ENOTDIR.
	ReadDir(ino Ino, offset uint64, plus bool, emit func(DirEntry) bool) error

	// Statfs returns the state of the disk.
	Statfs() (Statfs, error)
	// Sync returns when all that happened before is durable.
	Sync() error
}

// DirEntry is an entry of a directory as it is read.
type DirEntry struct {
	Name   string
	Ino    Ino
	Mode   uint32 // the type bits are right
	Offset uint64 // of what follows
	Entry  Entry  // with plus; Ino 0 if there is nothing to refer to, or nothing new to say
}
