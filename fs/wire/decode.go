package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"syscall"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"

	"github.com/riverlytech/art/sqlvfs/inode"
)

// errMalformed says that a request is not what linux/fuse.h says it is.
var errMalformed = errors.New("malformed request")

// header is struct fuse_in_header, as far as anybody needs it.
type header struct {
	length   uint32
	opcode   opcode
	unique   uint64
	node     uint64
	uid, gid uint32
	pid      uint32

	flags Flags  // of the connection
	umask uint32 // of the process, in a request that makes something
	end   bool   // a write is to go to the end of the file
}

func decodeHeader(b []byte) (h header, err error) {
	if len(b) < inHeaderSize {
		return h, errMalformed
	}
	f := fields{b: b}
	h = header{length: f.u32(), opcode: opcode(f.u32()), unique: f.u64(), node: f.u64(), uid: f.u32(), gid: f.u32(), pid: f.u32()}
	return h, nil
}

func (h *header) inode() fuseops.InodeID { return fuseops.InodeID(h.node) }

func (h *header) context() fuseops.OpContext {
	return fuseops.OpContext{FuseID: h.unique, Pid: h.pid, Uid: h.uid}
}

// fixed returns the size of the fixed part behind the header.
func (h *header) fixed() int {
	if h.opcode == opSetxattr && h.flags&SetxattrExt == 0 {
		return 8 // FUSE_COMPAT_SETXATTR_IN_SIZE
	}
	if int(h.opcode) < len(argSize) {
		return int(argSize[h.opcode])
	}
	return 0
}

// fields reads the fixed part of a request, field by field. Who uses it has checked the length.
type fields struct{ b []byte }

func (f *fields) u32() uint32 {
	v := binary.NativeEndian.Uint32(f.b)
	f.b = f.b[4:]
	return v
}

func (f *fields) u64() uint64 {
	v := binary.NativeEndian.Uint64(f.b)
	f.b = f.b[8:]
	return v
}

func (f *fields) skip(n int) { f.b = f.b[n:] }

// decode turns a request into an operation. arg is its fixed part, payload what follows that; what the operation
// keeps of payload (content, values of attributes) is not copied. The operation's buffer for what is read is a part
// of dst. The error is errMalformed; nothing that the kernel sends is a reason to panic.
func decode(h *header, arg, payload, dst []byte) (any, error) {
	if len(arg) < h.fixed() {
		return nil, fmt.Errorf("%w: %d bytes of arguments to operation %d", errMalformed, len(arg), h.opcode)
	}
	f := fields{arg}
	var op any
	var err error
	switch h.opcode {
	case opLookup, opUnlink, opRmdir, opRemovexattr, opMknod, opMkdir, opTmpfile, opSymlink, opLink, opRename, opRename2:
		op, err = decodeNames(h, f, payload)
	case opGetattr, opSetattr, opReadlink, opStatfs, opForget, opBatchForget, opStatx, opIoctl:
		op, err = decodeInode(h, f, payload)
	case opRead, opReaddir, opReaddirplus, opWrite, opFallocate, opLseek, opCopyFileRange, opFsync, opFsyncdir:
		op, err = decodeContent(h, f, payload, dst)
	case opGetxattr, opListxattr, opSetxattr:
		op, err = decodeXattr(h, f, payload, dst)
	default: // opening, closing and flushing too: see UnknownOp
		op = &UnknownOp{Opcode: uint32(h.opcode), OpContext: h.context()}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: operation %d", err, h.opcode)
	}
	return op, nil
}

// name takes a string that ends with a zero byte off the front of b.
func name(b []byte, longest int) (s string, rest []byte, err error) {
	i := bytes.IndexByte(b, 0)
	if i <= 0 || i > longest {
		return "", nil, errMalformed
	}
	return string(b[:i]), b[i+1:], nil
}

// decodeNames decodes what is done to names in directories.
func decodeNames(h *header, f fields, payload []byte) (any, error) {
	if h.opcode == opTmpfile { // its name is empty
		f.skip(4) // open flags
		mode := f.u32()
		h.umask = f.u32()
		return &TmpfileOp{Parent: h.inode(), Mode: mode, OpContext: h.context()}, nil
	}
	first, rest, err := name(payload, maxName)
	if err != nil {
		return nil, err
	}
	switch h.opcode {
	case opLookup:
		return &fuseops.LookUpInodeOp{Parent: h.inode(), Name: first, OpContext: h.context()}, nil
	case opUnlink:
		return &fuseops.UnlinkOp{Parent: h.inode(), Name: first, OpContext: h.context()}, nil
	case opRmdir:
		return &fuseops.RmDirOp{Parent: h.inode(), Name: first, OpContext: h.context()}, nil
	case opRemovexattr:
		return &fuseops.RemoveXattrOp{Inode: h.inode(), Name: first, OpContext: h.context()}, nil
	case opMknod:
		mode, rdev := f.u32(), f.u32()
		h.umask = f.u32()
		return &fuseops.MkNodeOp{Parent: h.inode(), Name: first, Mode: fuse.ConvertFileMode(mode), Rdev: rdev, OpContext: h.context()}, nil
	case opMkdir:
		const directory = 0o040000
		mode := f.u32()&0o7777 | directory
		h.umask = f.u32()
		return &fuseops.MkDirOp{Parent: h.inode(), Name: first, Mode: fuse.ConvertFileMode(mode), OpContext: h.context()}, nil
	case opLink:
		return &fuseops.CreateLinkOp{Parent: h.inode(), Name: first, Target: fuseops.InodeID(f.u64()), OpContext: h.context()}, nil
	}
	longest := maxName
	if h.opcode == opSymlink {
		longest = maxPath
	}
	second, _, err := name(rest, longest)
	if err != nil {
		return nil, err
	}
	if h.opcode == opSymlink {
		return &fuseops.CreateSymlinkOp{Parent: h.inode(), Name: first, Target: second, OpContext: h.context()}, nil
	}
	rename := fuseops.RenameOp{
		OldParent: h.inode(), OldName: first,
		NewParent: fuseops.InodeID(f.u64()), NewName: second,
		OpContext: h.context(),
	}
	if h.opcode == opRename2 {
		if flags := f.u32(); flags != 0 {
			return &Rename2Op{rename, flags}, nil
		}
	}
	return &rename, nil
}

// decodeInode decodes what is asked of an inode itself.
func decodeInode(h *header, f fields, payload []byte) (any, error) {
	switch h.opcode {
	case opGetattr:
		return &fuseops.GetInodeAttributesOp{Inode: h.inode(), OpContext: h.context()}, nil
	case opSetattr:
		return decodeSetattr(h, f), nil
	case opReadlink:
		return &fuseops.ReadSymlinkOp{Inode: h.inode(), OpContext: h.context()}, nil
	case opStatfs:
		return &fuseops.StatFSOp{}, nil
	case opStatx:
		return &StatxOp{fuseops.GetInodeAttributesOp{Inode: h.inode(), OpContext: h.context()}}, nil
	case opIoctl:
		f.skip(12) // handle, flags
		return &IoctlOp{Inode: h.inode(), Command: f.u32(), OpContext: h.context()}, nil
	case opForget:
		return &fuseops.ForgetInodeOp{Inode: h.inode(), N: f.u64(), OpContext: h.context()}, nil
	case opBatchForget:
		const entry = 16
		count := int64(f.u32())
		if int64(len(payload)) < count*entry {
			return nil, errMalformed
		}
		p := fields{payload}
		entries := make([]fuseops.BatchForgetEntry, count)
		for i := range entries {
			entries[i] = fuseops.BatchForgetEntry{Inode: fuseops.InodeID(p.u64()), N: p.u64()}
		}
		return &fuseops.BatchForgetOp{Entries: entries, OpContext: h.context()}, nil
	}
	return &UnknownOp{Opcode: uint32(h.opcode), OpContext: h.context()}, nil
}

// decodeSetattr decodes struct fuse_setattr_in.
func decodeSetattr(h *header, f fields) any {
	op := &fuseops.SetInodeAttributesOp{Inode: h.inode(), OpContext: h.context()}
	valid := f.u32()
	f.skip(4)
	handle, size := fuseops.HandleID(f.u64()), f.u64()
	f.skip(8) // lock owner
	asec, msec := int64(f.u64()), int64(f.u64())
	f.skip(8) // change time's seconds
	ansec, mnsec := int64(f.u32()), int64(f.u32())
	f.skip(4) // its nanoseconds
	mode := f.u32()
	f.skip(4)
	uid, gid := f.u32(), f.u32()
	if valid&setHandle != 0 {
		op.Handle = &handle
	}
	if valid&setUID != 0 {
		op.Uid = &uid
	}
	if valid&setGID != 0 {
		op.Gid = &gid
	}
	if valid&setSize != 0 {
		op.Size = &size
	}
	if valid&setMode != 0 {
		m := fuse.ConvertFileMode(mode)
		op.Mode = &m
	}
	// For "now" the kernel sends its own time, which may be a little ahead of the one that other files get from us
	// (ktime_get_coarse_real_ts64_mg in kernel/time/timekeeping.c).
	now := time.Time{}
	if valid&(setAtimeNow|setMtimeNow) != 0 {
		now = inode.Now().Time()
	}
	if valid&setAtime != 0 {
		t := time.Unix(asec, ansec)
		if valid&setAtimeNow != 0 {
			t = now
		}
		op.Atime = &t
	}
	if valid&setMtime != 0 {
		t := time.Unix(msec, mnsec)
		if valid&setMtimeNow != 0 {
			t = now
		}
		op.Mtime = &t
	}
	return op
}

// negative tells whether an offset or a length is beyond what files have: the kernel's loff_t is signed.
func negative(numbers ...uint64) bool {
	return slices.ContainsFunc(numbers, func(n uint64) bool { return n > math.MaxInt64 })
}

// decodeContent decodes what is done with the content of files and directories.
func decodeContent(h *header, f fields, payload, dst []byte) (any, error) {
	ctx := h.context()
	switch h.opcode {
	case opRead, opReaddir, opReaddirplus:
		handle, off, size := fuseops.HandleID(f.u64()), f.u64(), f.u32()
		if uint64(size) > uint64(len(dst)) || negative(off) {
			return nil, errMalformed
		}
		dst = dst[:size:size]
		list := fuseops.ReadDirOp{Inode: h.inode(), Handle: handle, Offset: fuseops.DirOffset(off), Dst: dst, OpContext: ctx}
		switch h.opcode {
		case opReaddir:
			return &list, nil
		case opReaddirplus:
			return &fuseops.ReadDirPlusOp{ReadDirOp: list}, nil
		}
		return &fuseops.ReadFileOp{Inode: h.inode(), Handle: handle, Offset: int64(off), Size: int64(size), Dst: dst, OpContext: ctx}, nil
	case opWrite:
		handle, off, size := fuseops.HandleID(f.u64()), f.u64(), f.u32()
		if uint64(size) > uint64(len(payload)) || negative(off) {
			return nil, errMalformed
		}
		delayed := f.u32()&writeCache != 0
		f.skip(8) // owner of locks
		h.end = f.u32()&syscall.O_APPEND != 0 && !delayed
		return &fuseops.WriteFileOp{Inode: h.inode(), Handle: handle, Offset: int64(off), Data: payload[:size:size], OpContext: ctx}, nil
	case opFallocate:
		handle, off, length, mode := fuseops.HandleID(f.u64()), f.u64(), f.u64(), f.u32()
		if negative(off, length) {
			return nil, errMalformed
		}
		return &fuseops.FallocateOp{Inode: h.inode(), Handle: handle, Offset: off, Length: length, Mode: mode, OpContext: ctx}, nil
	case opLseek:
		f.skip(8)                       // handle
		off, whence := f.u64(), f.u32() // a negative one is the program's own (fuse_lseek in fs/fuse/file.c)
		return &SeekOp{Inode: h.inode(), Offset: int64(off), Whence: whence, OpContext: ctx}, nil
	case opCopyFileRange:
		f.skip(8) // handle of what is read
		from, to := f.u64(), fuseops.InodeID(f.u64())
		f.skip(8) // handle of what is written
		off, length := f.u64(), f.u64()
		if negative(from, off, length) {
			return nil, errMalformed
		}
		return &CopyRangeOp{From: h.inode(), FromOffset: int64(from), To: to, ToOffset: int64(off), Length: int64(length), OpContext: ctx}, nil
	}
	return &fuseops.SyncFileOp{Inode: h.inode(), Handle: fuseops.HandleID(f.u64()), OpContext: ctx}, nil
}

// SetxattrKillSGID in the flags of fuseops.SetXattrOp says that the set-group-ID bit goes with a new access control list, since the
// caller is not in the file's group.
const SetxattrKillSGID = 1 << 31

const aclKillSGID = 1 << 0 // FUSE_SETXATTR_ACL_KILL_SGID in linux/fuse.h

// decodeXattr decodes what is done with extended attributes, but for their removal.
func decodeXattr(h *header, f fields, payload, dst []byte) (any, error) {
	size := f.u32()
	if h.opcode == opSetxattr {
		flags := f.u32()
		if h.flags&SetxattrExt != 0 && f.u32()&aclKillSGID != 0 {
			flags |= SetxattrKillSGID
		}
		key, value, err := name(payload, maxName)
		if err != nil || uint64(size) > uint64(len(value)) {
			return nil, errMalformed
		}
		return &fuseops.SetXattrOp{Inode: h.inode(), Name: key, Value: value[:size:size], Flags: flags, OpContext: h.context()}, nil
	}
	if uint64(size) > uint64(len(dst)) {
		return nil, errMalformed
	}
	if dst = dst[:size:size]; size == 0 {
		dst = nil // only the length is asked for
	}
	if h.opcode == opListxattr {
		return &fuseops.ListXattrOp{Inode: h.inode(), Dst: dst, OpContext: h.context()}, nil
	}
	key, _, err := name(payload, maxName)
	if err != nil {
		return nil, err
	}
	return &fuseops.GetXattrOp{Inode: h.inode(), Name: key, Dst: dst, OpContext: h.context()}, nil
}
