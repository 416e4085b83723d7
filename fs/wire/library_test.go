package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"
	"golang.org/x/sys/unix"
)

// library has requests decoded, and replies encoded, by the library, which takes one end of a socket for /dev/fuse.
type library struct {
	socket int
	ops    chan served
}

type served struct {
	op    any
	reply func(error) error
}

func (l *library) ServeOps(c *fuse.Connection) {
	for {
		ctx, op, err := c.ReadOp()
		if err != nil {
			close(l.ops)
			return
		}
		l.ops <- served{op, func(err error) error { return c.Reply(ctx, err) }}
	}
}

func openLibrary(t *testing.T) *library {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{pair[0], make(chan served)}
	arg := make([]byte, 16)
	binary.NativeEndian.PutUint32(arg, major)
	binary.NativeEndian.PutUint32(arg[4:], 34)
	l.send(t, message(opInit, arg, nil))
	if _, err := fuse.Mount(fmt.Sprintf("/dev/fd/%d", pair[1]), l, &fuse.MountConfig{OpContext: context.Background()}); err != nil {
		t.Fatal(err)
	}
	l.receive(t)
	t.Cleanup(func() { unix.Close(l.socket) })
	return l
}

func (l *library) send(t *testing.T, msg []byte) {
	t.Helper()
	if _, err := unix.Write(l.socket, msg); err != nil {
		t.Fatal(err)
	}
}

func (l *library) receive(t *testing.T) []byte {
	t.Helper()
	buf := make([]byte, 1<<20)
	n, err := unix.Read(l.socket, buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// message is a request as /dev/fuse has it.
func message(code opcode, arg, payload []byte) []byte {
	b := make([]byte, inHeaderSize)
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)+len(arg)+len(payload)))
	binary.NativeEndian.PutUint32(b[4:], uint32(code))
	binary.NativeEndian.PutUint64(b[8:], 0x1234)
	binary.NativeEndian.PutUint64(b[16:], 0x5678)
	binary.NativeEndian.PutUint32(b[24:], 1000)
	binary.NativeEndian.PutUint32(b[28:], 1001)
	binary.NativeEndian.PutUint32(b[32:], 4321)
	return append(append(b, arg...), payload...)
}

// payloads are requests' payloads that both understand.
var payloads = map[opcode]string{
	opLookup: "name\x00", opUnlink: "name\x00", opRmdir: "name\x00", opRemovexattr: "user.a\x00",
	opMknod: "name\x00", opMkdir: "name\x00", opLink: "name\x00",
	opSymlink: "name\x00some/target\x00", opRename: "old\x00new\x00",
	opGetxattr: "user.a\x00", opSetxattr: "user.a\x00value",
	opWrite: string(make([]byte, 8192)),
}

// decodedByBoth are the operations that the library knows.
var decodedByBoth = []opcode{
	opLookup, opForget, opGetattr, opSetattr, opReadlink, opSymlink, opMknod, opMkdir, opUnlink, opRmdir, opRename,
	opLink, opRead, opWrite, opStatfs, opFsync, opSetxattr, opGetxattr, opListxattr, opRemovexattr,
	opReaddir, opFsyncdir, opBatchForget, opFallocate, opReaddirplus,
}

// randomArg is a fixed part whose sizes fit what follows.
func randomArg(r *rand.Rand, code opcode) []byte {
	arg := make([]byte, (&header{opcode: code}).fixed())
	for i := range arg {
		arg[i] = byte(r.Uint32())
	}
	switch code { // offsets and lengths are not negative
	case opRead, opReaddir, opReaddirplus, opWrite, opFallocate:
		binary.NativeEndian.PutUint64(arg[8:], r.Uint64()>>1)
	}
	switch code {
	case opFallocate:
		binary.NativeEndian.PutUint64(arg[16:], r.Uint64()>>1)
	case opRead, opReaddir, opReaddirplus, opWrite:
		binary.NativeEndian.PutUint32(arg[16:], uint32(r.IntN(8193)))
	case opGetxattr, opListxattr:
		binary.NativeEndian.PutUint32(arg, uint32(r.IntN(3)*100))
	case opSetxattr:
		binary.NativeEndian.PutUint32(arg, uint32(len("value")))
	case opBatchForget:
		binary.NativeEndian.PutUint32(arg, 3)
	case opSetattr: // the library takes the kernel's word for what the time is
		arg[0] &^= setAtimeNow
		arg[1] &^= setMtimeNow >> 8
	case opMkdir: // the kernel passes on permissions only
		binary.NativeEndian.PutUint32(arg, r.Uint32()&0o7777)
	}
	return arg
}

// TestLikeTheLibrary decodes random requests, and encodes random replies to them, and has the library do the same.
func TestLikeTheLibrary(t *testing.T) {
	l := openLibrary(t)
	for seed := range uint64(50) {
		for _, code := range decodedByBoth {
			r := rand.New(rand.NewPCG(seed, uint64(code)))
			arg, payload := randomArg(r, code), []byte(payloads[code])
			if code == opBatchForget {
				payload = make([]byte, 48)
			}
			msg := message(code, arg, payload)
			l.send(t, msg)
			theirs := <-l.ops
			h, err := decodeHeader(msg)
			if err != nil {
				t.Fatal(err)
			}
			memory := make([]byte, maxPayload)
			ours, err := decode(&h, arg, payload, memory)
			if err != nil {
				t.Fatalf("operation %d: %v", code, err)
			}
			if want := comparable(theirs.op); !reflect.DeepEqual(comparable(ours), want) {
				t.Fatalf("operation %d:\n%+v, the library:\n%+v", code, comparable(ours), want)
			}
			result := r.Uint64()
			fillReply(rand.New(rand.NewPCG(result, 0)), ours)
			fillReply(rand.New(rand.NewPCG(result, 0)), theirs.op)
			if err := theirs.reply(nil); err != nil {
				t.Fatal(err)
			}
			if silent(ours) {
				continue
			}
			reply := memory[:encode(ours, memory, -1)]
			if want := l.receive(t)[outHeaderSize:]; !bytes.Equal(reply, want) {
				t.Fatalf("reply to operation %d:\n%x, the library:\n%x", code, reply, want)
			}
		}
	}
}

// comparable is an operation without what is known to differ: where its buffer lies, and a bit of mkdir's mode that means
// something else.
func comparable(op any) any {
	v := reflect.New(reflect.TypeOf(op).Elem())
	v.Elem().Set(reflect.ValueOf(op).Elem())
	if dst := v.Elem().FieldByName("Dst"); dst.IsValid() {
		dst.SetBytes(make([]byte, dst.Len()))
	}
	if data := v.Elem().FieldByName("Data"); data.IsValid() && data.Type() == reflect.TypeFor[[]byte]() {
		if op, ok := v.Interface().(*fuseops.WriteFileOp); ok { // the library lets through more than was asked for
			op.Data = nil
		}
	}
	if op, ok := v.Interface().(*fuseops.MkDirOp); ok {
		op.Mode &^= os.ModeDevice
	}
	return v.Interface()
}

// fillReply sets what a file system sets.
func fillReply(r *rand.Rand, op any) {
	modes := []os.FileMode{0o644, os.ModeDir | 0o755, os.ModeSymlink | 0o777, os.ModeNamedPipe, os.ModeDevice | 0o600, os.ModeDevice | os.ModeCharDevice, os.ModeSocket | os.ModeSetuid | os.ModeSetgid | os.ModeSticky}
	moment := func() time.Time { return time.Unix(r.Int64N(1<<32), r.Int64N(1e9)) }
	attributes := func() fuseops.InodeAttributes {
		a := fuseops.InodeAttributes{
			Size: r.Uint64N(1 << 50), Nlink: r.Uint32(), Mode: modes[r.IntN(len(modes))],
			Atime: moment(), Mtime: moment(), Ctime: moment(), Uid: r.Uint32(), Gid: r.Uint32(),
		}
		if a.Mode&os.ModeDevice != 0 { // the library passes on that of others too
			a.Rdev = r.Uint32()
		}
		return a
	}
	v := reflect.ValueOf(op).Elem()
	if f := v.FieldByName("Entry"); f.IsValid() {
		f.Set(reflect.ValueOf(fuseops.ChildInodeEntry{Child: fuseops.InodeID(r.Uint64()), Generation: 7, Attributes: attributes()}))
	}
	if f := v.FieldByName("Attributes"); f.IsValid() {
		f.Set(reflect.ValueOf(attributes()))
	}
	switch op := op.(type) {
	case *fuseops.ReadSymlinkOp:
		op.Target = "target"
	case *fuseops.StatFSOp:
		*op = fuseops.StatFSOp{BlockSize: 4096, IoSize: 8192, Blocks: r.Uint64(), BlocksFree: r.Uint64(), BlocksAvailable: r.Uint64(), Inodes: r.Uint64(), InodesFree: r.Uint64()}
	case *fuseops.WriteFileOp:
		op.Data = op.Data[:min(len(op.Data), 5)]
	}
	if dst := v.FieldByName("Dst"); dst.IsValid() {
		n := dst.Len() / 2
		for i := range n {
			dst.Bytes()[i] = byte(r.Uint32())
		}
		v.FieldByName("BytesRead").SetInt(int64(n))
		if dst.Len() == 0 {
			switch op.(type) {
			case *fuseops.GetXattrOp, *fuseops.ListXattrOp:
				v.FieldByName("BytesRead").SetInt(77)
			}
		}
	}
}

// TestStrangeTimes sees that times outside of what the library can say arrive.
func TestStrangeTimes(t *testing.T) {
	for _, moment := range []time.Time{time.Unix(-5, 250), time.Unix(1<<40, 999999999), time.Unix(0, 0)} {
		b := make([]byte, smallReply)
		op := &fuseops.GetInodeAttributesOp{Attributes: fuseops.InodeAttributes{Mtime: moment}}
		if n := encode(op, b, -1); n != attrOutSize {
			t.Fatal(n)
		}
		sec, nsec := int64(binary.NativeEndian.Uint64(b[16+32:])), binary.NativeEndian.Uint32(b[16+52:])
		if sec != moment.Unix() || int(nsec) != moment.Nanosecond() {
			t.Errorf("%v came out as %d.%09d", moment, sec, nsec)
		}
	}
}

// FuzzDecode has any bytes for a request: it is an operation or malformed, and its reply is one of a length that there is
// room for. In a ring's entry, whose memory is the payload and the room for the reply in one, it is the same operation,
// unless the kernel says that the payload has another size, which is not trusted either.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, code := range decodedByBoth {
		f.Add(message(code, randomArg(r, code), []byte(payloads[code])), uint32(0))
	}
	for i, code := range []opcode{opTmpfile, opStatx, opLseek, opCopyFileRange, opRename2, opIoctl, 38, 999} {
		f.Add(message(code, make([]byte, 56), []byte("a\x00b\x00")), uint32(i*maxPayload/4))
	}
	memory := make([]byte, maxPayload)
	connection := &rings{}
	e := &entry{thread: &thread{rings: connection}, header: make([]byte, ringHeaderSize), payload: make([]byte, maxPayload)}
	f.Fuzz(func(t *testing.T, msg []byte, size uint32) {
		h, err := decodeHeader(msg)
		if err != nil {
			return
		}
		h.flags = Flags(h.unique) & SetxattrExt
		connection.flags = h.flags
		arg := msg[inHeaderSize:]
		var payload []byte
		if n := h.fixed(); len(arg) > n {
			arg, payload = arg[:n], arg[n:]
		}
		op, err := decode(&h, arg, payload, memory)
		inRing, ringErr := e.requestOf(msg, arg, payload, size)
		if ringErr == nil {
			if n := encode(inRing.Op, e.payload, -1); n < 0 || n > len(e.payload) {
				t.Fatalf("%T: a reply of %d bytes by a ring", inRing.Op, n)
			}
		}
		if err != nil {
			return
		}
		if size == 0 && len(payload) <= len(e.payload) {
			if ringErr != nil || reflect.TypeOf(inRing.Op) != reflect.TypeOf(op) {
				t.Fatalf("%T: by a ring %+v %v", op, inRing, ringErr)
			}
		}
		if n := encode(op, memory, -1); n < 0 || n > len(memory) {
			t.Fatalf("%T: a reply of %d bytes", op, n)
		}
	})
}

// requestOf decodes a message that the kernel has put into an entry, with the size of its payload or, if it is not 0, any.
func (e *entry) requestOf(msg, arg, payload []byte, size uint32) (*Request, error) {
	clear(e.header)
	copy(e.header, msg[:inHeaderSize])
	copy(e.header[ringArg:ringInOut], arg)
	copy(e.payload, payload)
	if size == 0 {
		size = uint32(len(payload))
	}
	binary.NativeEndian.PutUint32(e.header[ringPayload:], size)
	return e.request()
}
