package wire

// opcode is what a request asks for (enum fuse_opcode in linux/fuse.h).
type opcode uint32

const (
	opLookup        opcode = 1
	opForget        opcode = 2
	opGetattr       opcode = 3
	opSetattr       opcode = 4
	opReadlink      opcode = 5
	opSymlink       opcode = 6
	opMknod         opcode = 8
	opMkdir         opcode = 9
	opUnlink        opcode = 10
	opRmdir         opcode = 11
	opRename        opcode = 12
	opLink          opcode = 13
	opRead          opcode = 15
	opWrite         opcode = 16
	opStatfs        opcode = 17
	opFsync         opcode = 20
	opSetxattr      opcode = 21
	opGetxattr      opcode = 22
	opListxattr     opcode = 23
	opRemovexattr   opcode = 24
	opInit          opcode = 26
	opReaddir       opcode = 28
	opFsyncdir      opcode = 30
	opInterrupt     opcode = 36
	opIoctl         opcode = 39
	opBatchForget   opcode = 42
	opFallocate     opcode = 43
	opReaddirplus   opcode = 44
	opRename2       opcode = 45
	opLseek         opcode = 46
	opCopyFileRange opcode = 47
	opTmpfile       opcode = 51
	opStatx         opcode = 52
)

// argSize is the size in bytes of the fixed part of each request that has one: struct fuse_forget_in and so on. What
// follows it, names and content, is the request's payload.
var argSize = [...]uint8{
	opForget:        8,
	opGetattr:       16,
	opSetattr:       88,
	opMknod:         16,
	opMkdir:         8,
	opRename:        8,
	opLink:          8,
	opRead:          40,
	opWrite:         40,
	opFsync:         16,
	opSetxattr:      16, // see header.fixed
	opGetxattr:      8,
	opListxattr:     8,
	opReaddir:       40,
	opFsyncdir:      16,
	opIoctl:         32,
	opBatchForget:   8,
	opFallocate:     32,
	opReaddirplus:   40,
	opRename2:       16,
	opLseek:         24,
	opCopyFileRange: 56,
	opTmpfile:       16,
	opStatx:         24,
}

const (
	inHeaderSize  = 40  // struct fuse_in_header
	outHeaderSize = 16  // struct fuse_out_header
	attrSize      = 88  // struct fuse_attr
	attrOutSize   = 104 // struct fuse_attr_out
	entryOutSize  = 128 // struct fuse_entry_out
	openOutSize   = 16  // struct fuse_open_out
	statfsOutSize = 80  // struct fuse_statfs_out
	statxOutSize  = 288 // struct fuse_statx_out
	direntSize    = 24  // struct fuse_dirent, without the name
	maxName       = 1024
	maxPath       = 4096
)

// writeCache marks a write of what was in the page cache, as of a mapping (FUSE_WRITE_CACHE in linux/fuse.h).
const writeCache = 1 << 0

// What FUSE_SETATTR sets (FATTR_* in linux/fuse.h).
const (
	setMode = 1 << iota
	setUID
	setGID
	setSize
	setAtime
	setMtime
	setHandle
	setAtimeNow
	setMtimeNow
)
