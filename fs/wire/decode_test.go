package wire

import (
	"encoding/binary"
	"errors"
	"syscall"
	"testing"

	"github.com/jacobsa/fuse/fuseops"
)

// TestUmask decodes what the library drops: the umask of who makes something.
func TestUmask(t *testing.T) {
	for _, c := range []struct {
		code opcode
		at   int
	}{{opMknod, 8}, {opMkdir, 4}, {opTmpfile, 8}} {
		arg := make([]byte, argSize[c.code])
		binary.NativeEndian.PutUint32(arg[c.at:], 0o27)
		h := header{opcode: c.code}
		if _, err := decode(&h, arg, []byte("name\x00"), nil); err != nil || h.umask != 0o27 {
			t.Errorf("operation %d: umask %o, %v", c.code, h.umask, err)
		}
	}
}

// TestSetxattrExt decodes both forms of struct fuse_setxattr_in.
func TestSetxattrExt(t *testing.T) {
	for _, c := range []struct {
		flags  Flags
		killed uint32
		want   uint32
	}{{0, 0, 1}, {SetxattrExt, 0, 1}, {SetxattrExt, aclKillSGID, 1 | SetxattrKillSGID}} {
		h := header{opcode: opSetxattr, flags: c.flags}
		arg := binary.NativeEndian.AppendUint32(nil, 5)
		arg = binary.NativeEndian.AppendUint32(arg, 1)
		if c.flags != 0 {
			arg = binary.NativeEndian.AppendUint32(arg, c.killed)
			arg = binary.NativeEndian.AppendUint32(arg, 0)
		}
		if len(arg) != h.fixed() {
			t.Fatalf("a fixed part of %d bytes", h.fixed())
		}
		op, err := decode(&h, arg, []byte("user.a\x00value"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if set := op.(*fuseops.SetXattrOp); set.Flags != c.want || set.Name != "user.a" || string(set.Value) != "value" {
			t.Errorf("flags %#x, name %q, value %q", set.Flags, set.Name, set.Value)
		}
	}
}

// TestNegativeOffsets refuses offsets and lengths that would be negative; not those of lseek(2), which come from a program.
func TestNegativeOffsets(t *testing.T) {
	for code, places := range map[opcode][]int{
		opRead: {8}, opReaddir: {8}, opReaddirplus: {8}, opWrite: {8}, opFallocate: {8, 16}, opCopyFileRange: {8, 32, 40},
	} {
		for _, at := range places {
			arg := make([]byte, argSize[code])
			h := header{opcode: code}
			binary.NativeEndian.PutUint64(arg[at:], 1<<63-1)
			if _, err := decode(&h, arg, nil, nil); err != nil {
				t.Errorf("operation %d, at %d: %v", code, at, err)
			}
			binary.NativeEndian.PutUint64(arg[at:], 1<<63)
			if _, err := decode(&h, arg, nil, nil); !errors.Is(err, errMalformed) {
				t.Errorf("operation %d, at %d: %v", code, at, err)
			}
		}
	}
	arg := make([]byte, argSize[opLseek])
	binary.NativeEndian.PutUint64(arg[8:], 1<<64-1)
	if op, err := decode(&header{opcode: opLseek}, arg, nil, nil); err != nil || op.(*SeekOp).Offset != -1 {
		t.Errorf("%+v, %v", op, err)
	}
}

// TestAppends decodes what the library drops: that a file that is written was opened with O_APPEND. What the kernel writes of its own
// accord, as from a mapping, has its place.
func TestAppends(t *testing.T) {
	for _, c := range []struct {
		how, open uint32
		want      bool
	}{{0, syscall.O_WRONLY, false}, {0, syscall.O_WRONLY | syscall.O_APPEND, true}, {writeCache, syscall.O_APPEND, false}} {
		arg := make([]byte, argSize[opWrite])
		binary.NativeEndian.PutUint32(arg[20:], c.how)
		binary.NativeEndian.PutUint32(arg[32:], c.open)
		h := header{opcode: opWrite}
		if _, err := decode(&h, arg, nil, nil); err != nil || h.end != c.want {
			t.Errorf("flags %#x and %#o: %v, %v", c.how, c.open, h.end, err)
		}
	}
}
