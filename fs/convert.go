package fs

import (
	"math"
	"os"
	"syscall"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"
	"github.com/jacobsa/fuse/fuseutil"

	"github.com/riverlytech/art/fs/wire"
	"github.com/riverlytech/art/sqlvfs"
)

// reply returns a function that puts the result of an operation on a name into its reply.
func reply(r *wire.Request, out *fuseops.ChildInodeEntry) func(Entry, error) error {
	return func(e Entry, err error) error {
		if err == nil {
			*out, r.Blocks = childEntry(e), e.Blocks
		}
		return err
	}
}

func childEntry(e Entry) fuseops.ChildInodeEntry {
	return fuseops.ChildInodeEntry{
		Child:                fuseops.InodeID(e.Ino),
		Attributes:           attributes(e),
		AttributesExpiration: expiration(e.AttrTTL),
		EntryExpiration:      expiration(e.TTL),
	}
}

func expiration(ttl time.Duration) time.Time { return time.Now().Add(ttl) }

func attributes(e Entry) fuseops.InodeAttributes {
	return fuseops.InodeAttributes{
		Size:  uint64(e.Attr.Size),
		Nlink: e.Attr.Nlink,
		Mode:  fuse.ConvertFileMode(e.Attr.Mode),
		Rdev:  e.Attr.Rdev,
		Atime: e.Attr.Atime.Time(),
		Mtime: e.Attr.Mtime.Time(),
		Ctime: e.Attr.Ctime.Time(),
		Uid:   e.Attr.UID,
		Gid:   e.Attr.GID,
	}
}

// permissions are the permission bits of a mode that may carry a stray type.
func permissions(mode os.FileMode) uint32 { return fuse.ConvertGoMode(mode) & 0o7777 }

func setAttr(op *fuseops.SetInodeAttributesOp) SetAttr {
	set := SetAttr{UID: op.Uid, GID: op.Gid}
	if op.Mode != nil {
		mode := permissions(*op.Mode)
		set.Mode = &mode
	}
	if op.Size != nil {
		size := int64(min(*op.Size, math.MaxInt64))
		set.Size = &size
	}
	timespec := func(t *time.Time) *sqlvfs.Timespec {
		if t == nil {
			return nil
		}
		return &sqlvfs.Timespec{Sec: t.Unix(), Nsec: int32(t.Nanosecond())}
	}
	set.Atime, set.Mtime = timespec(op.Atime), timespec(op.Mtime)
	return set
}

// readDir fills a buffer of the kernel's with directory entries.
func (s *Server) readDir(op *fuseops.ReadDirOp, plus bool) error {
	return s.fs.ReadDir(Ino(op.Inode), uint64(op.Offset), plus, func(e DirEntry) bool {
		ent := fuseutil.Dirent{
			Offset: fuseops.DirOffset(e.Offset),
			Inode:  fuseops.InodeID(e.Ino),
			Name:   e.Name,
			Type:   fuseutil.DirentType(e.Mode & syscall.S_IFMT >> 12), // IFTODT in dirent.h
		}
		var n int
		if plus {
			entry := childEntry(e.Entry)
			n = wire.AppendDirentPlus(op.Dst[op.BytesRead:], ent, &entry, e.Entry.Blocks)
		} else {
			n = wire.AppendDirent(op.Dst[op.BytesRead:], ent)
		}
		op.BytesRead += n
		return n > 0
	})
}

// fill copies a value into a buffer of the kernel's; without one, it only tells how long it is.
func fill(dst, value []byte) (int, error) {
	if len(dst) > 0 && len(dst) < len(value) {
		return 0, syscall.ERANGE
	}
	copy(dst, value)
	return len(value), nil
}

// nameList is the form in which listxattr(2) has names.
func nameList(names []string) []byte {
	var list []byte
	for _, name := range names {
		list = append(append(list, name...), 0)
	}
	return list
}
