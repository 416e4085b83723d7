package decode

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is read and written is shown whole, of the descriptors that are asked for.
func TestDump(t *testing.T) {
	const at = 0x10000
	text := "0123456789abcdef\n\x80"
	vector := append(words(at+48, 2, at+50, 3, 0, 0), text...)
	message := append(words(0, 0, at+64, 1, 0, 0, 0, 3, at+80, 9), text...)
	all := &Dump{Read: func(int) bool { return true }, Written: func(int) bool { return true }}
	const first = " | 00000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  0123456789abcdef |\n"
	short := func(n int, bytes, text string) string {
		return " | 00000  " + bytes + strings.Repeat(" ", 48-len(bytes)) + "  " + text + strings.Repeat(" ", 16-n) + " |\n"
	}
	for _, tc := range []struct {
		name   string
		args   [6]uint64
		memory []byte
		ret    int64
		which  *Dump
		want   string
	}{
		{"write", [6]uint64{1, at, 18}, []byte(text), 18, all, first + strings.Replace(short(2, "0a 80", ".."), "00000", "00010", 1)},
		{"write", [6]uint64{1, at, 3}, []byte(text), -int64(unix.EBADF), all, short(3, "30 31 32", "012")},
		{"write", [6]uint64{1, at, 18}, nil, -int64(unix.EFAULT), all, ""},
		{"read", [6]uint64{0, at, 100}, []byte(text), 3, all, short(3, "30 31 32", "012")},
		{"read", [6]uint64{0, at, 3}, []byte(text), -int64(unix.EBADF), all, ""},
		{"write", [6]uint64{1, at, 3}, []byte(text), 3, &Dump{Written: func(fd int) bool { return fd == 2 }}, ""},
		{"read", [6]uint64{1, at, 3}, []byte(text), 3, &Dump{Written: func(int) bool { return true }}, ""},
		{"readv", [6]uint64{0, at, 3}, vector, 4, all,
			" * 2 bytes in buffer 0\n" + short(2, "30 31", "01") + " * 2 bytes in buffer 1\n" + short(2, "32 33", "23")},
		{"writev", [6]uint64{1, at, 9}, vector, -int64(unix.EFAULT), all, ""}, // the array is not readable whole
		{"recvmmsg", [6]uint64{0, at, 1}, message, 1, all, " = 1 buffers in vector 0\n * 3 bytes in buffer 0\n" + short(3, "30 31 32", "012")},
		{"close", [6]uint64{1, at, 3}, []byte(text), 0, all, ""},
	} {
		c := native(tc.name)
		c.Args, c.Mem, c.Ret, c.Failed = tc.args, image{at, tc.memory}, tc.ret, tc.ret < 0
		if got := string(AppendDump(nil, c, tc.which)); got != tc.want {
			t.Errorf("%s\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// What a call waits for is as much what it is about as what it names.
func TestAwaited(t *testing.T) {
	c := native("ppoll")
	c.Args, c.Mem, c.Files = [6]uint64{0x1000, 2}, image{0x1000, words(4, 5)}, named("/file")
	if got := Awaited(c); len(got) != 2 || got[0] != "/file" {
		t.Errorf("of ppoll %q", got)
	}
	c = native("pselect6")
	c.Args, c.Mem, c.Files = [6]uint64{8, 0x1000}, image{0x1000, words(1 << 5)}, named("/file")
	if got := Awaited(c); len(got) != 1 {
		t.Errorf("of pselect6 %q", got)
	}
	c = native("renameat")
	c.Args, c.Mem = [6]uint64{0, 0x1000, 0, 0x1004}, image{0x1000, []byte("a/b\x00../c\x00")}
	if got := Written(c); strings.Join(got, " ") != "a/b ../c" {
		t.Errorf("written %q", got)
	}
}
