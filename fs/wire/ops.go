package wire

import "github.com/jacobsa/fuse/fuseops"

// What the kernel can ask for and fuseops has no type for. As there, fields behind a comment "Set by the
// file system" are the reply.

// Rename2Op is rename(2) with flags of renameat2(2).
type Rename2Op struct {
	fuseops.RenameOp
	Flags uint32
}

// TmpfileOp makes a regular file without a name in a directory, and opens it (O_TMPFILE).
type TmpfileOp struct {
	Parent    fuseops.InodeID
	Mode      uint32 // type and permissions
	OpContext fuseops.OpContext

	// Set by the file system.
	Entry fuseops.ChildInodeEntry
}

// SeekOp is lseek(2) with SEEK_DATA or SEEK_HOLE.
type SeekOp struct {
	Inode     fuseops.InodeID
	Offset    int64
	Whence    uint32
	OpContext fuseops.OpContext

	// Set by the file system: bytes from the file's start.
	Found int64
}

// CopyRangeOp is copy_file_range(2) within the file system.
type CopyRangeOp struct {
	From       fuseops.InodeID
	FromOffset int64
	To         fuseops.InodeID
	ToOffset   int64
	Length     int64
	OpContext  fuseops.OpContext

	// Set by the file system: bytes, at most Length.
	Copied int64
}

// StatxOp is statx(2), the one way to learn of a file's time of birth: Attributes.Crtime; zero: not known.
type StatxOp struct{ fuseops.GetInodeAttributesOp }

// IoctlOp is ioctl(2), of which only the number of the command is passed on.
type IoctlOp struct {
	Inode     fuseops.InodeID
	Command   uint32
	OpContext fuseops.OpContext
}

// UnknownOp is a request of a kind that this package does not decode. Answered ENOSYS, the kernel opens, creates and closes
// files and directories by itself, and does not flush (FUSE_NO_OPEN_SUPPORT, FUSE_NO_OPENDIR_SUPPORT; fuse_file_open,
// fuse_flush in fs/fuse/file.c, fuse_create_open in dir.c); and it asks no file system like this for syncfs(2)
// (fuse_sync_fs in inode.c).
type UnknownOp struct {
	Opcode    uint32
	OpContext fuseops.OpContext
}
