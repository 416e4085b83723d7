package wire

import (
	"encoding/binary"
	"math"
	"syscall"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"
	"github.com/jacobsa/fuse/fuseutil"
)

// silent tells whether the kernel expects no answer to an operation.
func silent(op any) bool {
	switch op.(type) {
	case *fuseops.ForgetInodeOp, *fuseops.BatchForgetOp:
		return true
	}
	return false
}

// out writes a reply, field by field. The buffer has room for the longest.
type out struct {
	b []byte
	n int
}

func (o *out) u32(v uint32) { binary.NativeEndian.PutUint32(o.b[o.n:], v); o.n += 4 }
func (o *out) u64(v uint64) { binary.NativeEndian.PutUint64(o.b[o.n:], v); o.n += 8 }
func (o *out) zero(n int)   { clear(o.b[o.n : o.n+n]); o.n += n }

// smallReply is room for any reply but one whose size was asked for.
const smallReply = max(maxPath, statxOutSize)

// encode writes what an operation that succeeded has found into b, which has room for smallReply bytes and is the
// memory whose part decode gave the operation as its buffer. It returns the length. blocks is the number of 512 bytes
// that the inode takes; below 0, what its size takes.
func encode(op any, b []byte, blocks int64) int {
	o := out{b: b}
	switch op := op.(type) {
	case *fuseops.LookUpInodeOp:
		o.entry(&op.Entry, blocks)
	case *fuseops.MkDirOp:
		o.entry(&op.Entry, blocks)
	case *fuseops.MkNodeOp:
		o.entry(&op.Entry, blocks)
	case *fuseops.CreateSymlinkOp:
		o.entry(&op.Entry, blocks)
	case *fuseops.CreateLinkOp:
		o.entry(&op.Entry, blocks)
	case *TmpfileOp:
		o.entry(&op.Entry, blocks)
		o.zero(openOutSize)
	case *fuseops.GetInodeAttributesOp:
		o.attrOut(op.Inode, &op.Attributes, op.AttributesExpiration, blocks)
	case *fuseops.SetInodeAttributesOp:
		o.attrOut(op.Inode, &op.Attributes, op.AttributesExpiration, blocks)
	case *StatxOp:
		o.statx(op, blocks)
	case *fuseops.ReadSymlinkOp:
		o.n = copy(b, op.Target)
	case *fuseops.ReadFileOp:
		return op.BytesRead
	case *fuseops.ReadDirOp:
		return op.BytesRead
	case *fuseops.ReadDirPlusOp:
		return op.BytesRead
	case *fuseops.WriteFileOp:
		o.u32(uint32(len(op.Data)))
		o.u32(0)
	case *CopyRangeOp:
		// struct fuse_write_out has 32 bits, and the kernel asks for no more.
		o.u32(uint32(min(op.Copied, math.MaxUint32)))
		o.u32(0)
	case *SeekOp:
		o.u64(uint64(op.Found))
	case *fuseops.StatFSOp:
		o.statfs(op)
	case *fuseops.GetXattrOp:
		return o.value(op.Dst, op.BytesRead)
	case *fuseops.ListXattrOp:
		return o.value(op.Dst, op.BytesRead)
	}
	return o.n
}

// value is what was asked of an extended attribute: itself, which is in place, or how long it is.
func (o *out) value(dst []byte, n int) int {
	if len(dst) > 0 {
		return n
	}
	o.u32(uint32(n))
	o.u32(0)
	return o.n
}

// valid is for how long something may be kept from now on, in seconds and nanoseconds.
func valid(until time.Time) (sec uint64, nsec uint32) {
	d := time.Until(until)
	if d <= 0 {
		return 0, 0
	}
	return uint64(d / time.Second), uint32(d % time.Second)
}

// entry writes struct fuse_entry_out.
func (o *out) entry(e *fuseops.ChildInodeEntry, blocks int64) {
	entrySec, entryNsec := valid(e.EntryExpiration)
	attrSec, attrNsec := valid(e.AttributesExpiration)
	o.u64(uint64(e.Child))
	o.u64(uint64(e.Generation))
	o.u64(entrySec)
	o.u64(attrSec)
	o.u32(entryNsec)
	o.u32(attrNsec)
	o.attr(e.Child, &e.Attributes, blocks)
}

// attrOut writes struct fuse_attr_out.
func (o *out) attrOut(ino fuseops.InodeID, a *fuseops.InodeAttributes, until time.Time, blocks int64) {
	sec, nsec := valid(until)
	o.u64(sec)
	o.u32(nsec)
	o.u32(0)
	o.attr(ino, a, blocks)
}

// blocksOf is the number of 512 bytes that a file of a size takes.
func blocksOf(size uint64, blocks int64) uint64 {
	if blocks >= 0 {
		return uint64(blocks)
	}
	return size/512 + (size%512+511)/512
}

// attr writes struct fuse_attr.
func (o *out) attr(ino fuseops.InodeID, a *fuseops.InodeAttributes, blocks int64) {
	o.u64(uint64(ino))
	o.u64(a.Size)
	o.u64(blocksOf(a.Size, blocks))
	o.u64(uint64(a.Atime.Unix()))
	o.u64(uint64(a.Mtime.Unix()))
	o.u64(uint64(a.Ctime.Unix()))
	o.u32(uint32(a.Atime.Nanosecond()))
	o.u32(uint32(a.Mtime.Nanosecond()))
	o.u32(uint32(a.Ctime.Nanosecond()))
	mode := fuse.ConvertGoMode(a.Mode)
	o.u32(mode)
	o.u32(a.Nlink)
	o.u32(a.Uid)
	o.u32(a.Gid)
	o.u32(rdev(mode, a.Rdev))
	o.zero(8) // blksize: the kernel's own; flags
}

// rdev is a device's number, and 0 for what is no device.
func rdev(mode, rdev uint32) uint32 {
	switch mode & syscall.S_IFMT {
	case syscall.S_IFCHR, syscall.S_IFBLK:
		return rdev
	}
	return 0
}

// statx writes struct fuse_statx_out, of which struct fuse_statx is all but the first 32 bytes.
func (o *out) statx(op *StatxOp, blocks int64) {
	const (
		basic = 0x7ff // STATX_BASIC_STATS in linux/stat.h
		birth = 0x800 // STATX_BTIME
	)
	a := &op.Attributes
	sec, nsec := valid(op.AttributesExpiration)
	o.u64(sec)
	o.u32(nsec)
	o.zero(4 + 16) // flags, spare
	mask := uint32(basic)
	if !a.Crtime.IsZero() {
		mask |= birth
	}
	o.u32(mask)
	o.zero(4 + 8) // blksize, attributes
	mode := fuse.ConvertGoMode(a.Mode)
	o.u32(a.Nlink)
	o.u32(a.Uid)
	o.u32(a.Gid)
	o.u32(mode & 0xffff) // and 16 bits of spare, on machines of this byte order
	o.u64(uint64(op.Inode))
	o.u64(a.Size)
	o.u64(blocksOf(a.Size, blocks))
	o.zero(8) // mask of attributes
	crtime := a.Crtime
	if crtime.IsZero() {
		crtime = time.Unix(0, 0)
	}
	for _, t := range [...]time.Time{a.Atime, crtime, a.Ctime, a.Mtime} {
		o.u64(uint64(t.Unix()))
		o.u32(uint32(t.Nanosecond()))
		o.u32(0)
	}
	dev := rdev(mode, a.Rdev)
	o.u32(dev >> 8 & 0xfff)                   // major, as new_decode_dev in linux/kdev_t.h has it
	o.u32(dev&0xff | (dev>>12)&^uint32(0xff)) // minor
	o.zero(statxOutSize - o.n)
}

func (o *out) statfs(op *fuseops.StatFSOp) {
	o.u64(op.Blocks)
	o.u64(op.BlocksFree)
	o.u64(op.BlocksAvailable)
	o.u64(op.Inodes)
	o.u64(op.InodesFree)
	o.u32(op.IoSize)
	o.u32(255) // longest name
	o.u32(op.BlockSize)
	o.zero(statfsOutSize - o.n)
}

// AppendDirent writes an entry into what is left of a buffer of fuseops.ReadDirOp, and returns its length; 0: there is no
// room for it.
func AppendDirent(b []byte, d fuseutil.Dirent) int { return fuseutil.WriteDirent(b, d) }

// AppendDirentPlus is AppendDirent for fuseops.ReadDirPlusOp. blocks is as with a reply.
func AppendDirentPlus(b []byte, d fuseutil.Dirent, e *fuseops.ChildInodeEntry, blocks int64) int {
	if len(b) < entryOutSize {
		return 0
	}
	n := fuseutil.WriteDirent(b[entryOutSize:], d)
	if n == 0 {
		return 0
	}
	o := out{b: b}
	o.entry(e, blocks)
	return entryOutSize + n
}
