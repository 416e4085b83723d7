package control

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// twoRings are the same one, mapped twice.
func twoRings(t *testing.T) (putting, taking *Ring) {
	t.Helper()
	fd, err := unix.MemfdCreate("ring", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []**Ring{&putting, &taking} {
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			*r, err = MapRing(os.NewFile(uintptr(own), "ring"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	unix.Close(fd)
	return putting, taking
}

// message is the i-th, of another length than those around it.
func message(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i*37%MaxCommand) }

// TestRing puts many messages, of which there never is room for all, while they are taken.
func TestRing(t *testing.T) {
	putting, taking := twoRings(t)
	const messages = 3000
	go func() {
		for i := range messages {
			for ok := false; !ok; {
				ok, _ = putting.Put(message(i))
			}
		}
	}()
	buf := make([]byte, MaxCommand)
	for i := range messages {
		n, ok := 0, false
		for !ok {
			n, ok = taking.Take(buf)
		}
		if !bytes.Equal(buf[:n], message(i)) {
			t.Fatalf("message %d is wrong", i)
		}
	}
	if _, ok := taking.Take(buf); ok {
		t.Error("one more than there are")
	}
}

// TestRingFull has nobody take, who then is nonsense.
func TestRingFull(t *testing.T) {
	putting, taking := twoRings(t)
	m, n, filled := make([]byte, 1000), 0, 0
	for {
		ok, half := putting.Put(m)
		if !ok {
			break
		}
		if n++; half {
			filled++
		}
	}
	if fit := ringSize / (ringLength + len(m)); n != fit || filled != n-fit/2 {
		t.Errorf("%d messages, of which %d have filled it; %d fit", n, filled, fit)
	}
	buf := make([]byte, 10)
	if n, ok := taking.Take(buf); n != len(buf) || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	taking.counts.taken.Store(1 << 60)
	if ok, _ := putting.Put(m); ok {
		t.Error("put where there is no room")
	}
	for _, length := range []uint32{1 << 31, ringSize} {
		taking.counts.taken.Store(0)
		putting.counts.put.Store(8)
		binary.NativeEndian.PutUint32(taking.data, length)
		if _, ok := taking.Take(buf); ok {
			t.Errorf("taken: %d bytes", length)
		}
		if _, ok := taking.Take(buf); ok || taking.counts.taken.Load() != 8 {
			t.Error("what is wrong stays")
		}
	}
}
