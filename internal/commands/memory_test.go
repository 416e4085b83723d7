package commands

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// mapped returns pages of memory, of which the last one is not there.
func mapped(t *testing.T, pages int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, (pages+1)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	if err := unix.Mprotect(b[pages*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return b[:pages*page]
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// TestArguments reads arguments that lie where they are hard to read, and such as cannot be.
func TestArguments(t *testing.T) {
	self := memory{os.Getpid()}
	texts, list := mapped(t, 64), mapped(t, 2)
	// lay puts strings at the end of memory behind which there is none, and the pointers to them across two pages.
	lay := func(args ...string) (argv uint64) {
		at := len(texts)
		var pointers []uint64
		for _, a := range args {
			at -= len(a) + 1
			copy(texts[at:], a+"\x00")
			pointers = append(pointers, address(texts[at:]))
		}
		start := len(list) - pointer*(len(args)+1)
		if len(args) < 256 {
			start = page - 12
		}
		where := unsafe.Slice((*uint64)(unsafe.Pointer(&list[start])), len(args)+1)
		copy(where, append(pointers, 0))
		return address(list[start:])
	}
	many := slices.Repeat([]string{"x"}, 1000)
	for _, c := range []struct {
		args []string
		cut  bool
	}{
		{args: []string{"sh", "-c", "echo"}},
		{args: []string{""}},
		{args: []string{"", "", "a"}},
		{args: []string{"sh", strings.Repeat("a", 3000), strings.Repeat("b", 500)}},
		{args: []string{"sh", strings.Repeat("a", 60_000)}, cut: true},
		{args: many},
	} {
		argv := lay(c.args...)
		path := append([]byte("/bin/sh"), 0)
		name, got, cut, err := self.exec(address(path), argv)
		runtime.KeepAlive(path)
		want := strings.Join(c.args, "\x00") + "\x00"
		if len(want) > control.MaxArgv {
			want = want[:control.MaxArgv-1] + "\x00"
		}
		if err != nil || name != "/bin/sh" || string(got) != want || cut != c.cut {
			t.Errorf("%d arguments, of which the last has %d bytes: %q of %d bytes, %v, %v", len(c.args), len(c.args[len(c.args)-1]), name, len(got), cut, err)
		}
	}
	path := append([]byte("/bin/sh"), 0)
	if _, argv, _, err := self.exec(address(path), 0); err != nil || len(argv) != 0 {
		t.Errorf("without arguments: %q, %v", argv, err)
	}
	texts[len(texts)-1] = 'a' // the NUL would lie where there is nothing
	for name, c := range map[string][2]uint64{
		"no path": {0, lay("sh")}, "nowhere": {address(path), 1 << 20}, "not ended": {address(texts[len(texts)-1:]), 0}, "beyond": {^uint64(0), ^uint64(7)},
	} {
		texts[len(texts)-1] = 'a'
		if _, _, _, err := self.exec(c[0], c[1]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func pointerTo[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
