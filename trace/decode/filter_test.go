package decode

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The instructions of a filter are those macros that make them, and numbers where these know nothing.
func TestFilter(t *testing.T) {
	instruction := func(code, jt, jf, k uint64) uint64 { return code | jt<<16 | jf<<24 | k<<32 }
	const at = 0x10000
	seccomp := []uint64{
		instruction(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, 4), instruction(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, 0x3c),
		instruction(unix.BPF_RET|unix.BPF_K, 0, 0, unix.SECCOMP_RET_ERRNO|1), instruction(unix.BPF_MISC|unix.BPF_TXA, 0, 0, 0),
		instruction(unix.BPF_ALU|0xf0|unix.BPF_X, 0, 0, 2), instruction(unix.BPF_ST|0x10, 0, 0, 1),
	}
	packet := []uint64{
		instruction(unix.BPF_LD|unix.BPF_B|unix.BPF_ABS, 0, 0, 0xfffff000), instruction(unix.BPF_LD|unix.BPF_B|unix.BPF_ABS, 0, 0, 0xffe00004),
		instruction(unix.BPF_LD|unix.BPF_W|unix.BPF_LEN, 0, 0, 0), instruction(unix.BPF_RET|unix.BPF_K, 0, 0, 0x7fff0000),
	}
	for _, tc := range []struct {
		call *Call
		code []uint64
		want string
	}{
		{&Call{Name: "seccomp", Args: [6]uint64{unix.SECCOMP_SET_MODE_FILTER, 0, at}}, seccomp,
			`{len=6, filter=[BPF_STMT(BPF_LD|BPF_W|BPF_ABS, 0x4), BPF_JUMP(BPF_JMP|BPF_K|BPF_JEQ, 0x3c, 0x1, 0), ` +
				`BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ERRNO|0x1), BPF_STMT(BPF_MISC|BPF_TXA, 0), ` +
				`BPF_STMT(BPF_ALU|BPF_X|0xf0 /* BPF_??? */, 0x2), BPF_STMT(BPF_ST|0x10 /* BPF_??? */, 0x1)]}`},
		{&Call{Name: "setsockopt", Args: [6]uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, at, 16}}, packet,
			`{len=4, filter=[BPF_STMT(BPF_LD|BPF_B|BPF_ABS, SKF_AD_OFF+SKF_AD_PROTOCOL), BPF_STMT(BPF_LD|BPF_B|BPF_ABS, SKF_LL_OFF+4), ` +
				`BPF_STMT(BPF_LD|BPF_W|BPF_LEN, 0), BPF_STMT(BPF_RET|BPF_K, 0x7fff0000)]}`},
	} {
		c := native(tc.call.Name)
		c.Args, c.Mem, c.Whole = tc.call.Args, image{at, append(words(uint64(len(tc.code)), at+16), words(tc.code...)...)}, true
		args, _ := Enter(c)
		args = append(args, Exit(c)...)
		if got := args[len(args)-1]; c.Name == "seccomp" && got != tc.want {
			t.Errorf("got %s\nwant %s", got, tc.want)
		} else if c.Name == "setsockopt" && args[3] != tc.want {
			t.Errorf("got %s\nwant %s", args[3], tc.want)
		}
	}
}

// connected are descriptors that are more than their paths.
type connected struct{ path string }

func (c connected) Path(int) string   { return c.path }
func (connected) Dir() string         { return "/here" }
func (connected) Endpoint(int) string { return "TCP:[1->2]" }
func (connected) Device(int) string   { return "char 1:3" }
func (connected) Process(int) int     { return 77 }

// Each kind of descriptor is shown if it is asked for, and as what else it is if not.
func TestDescriptors(t *testing.T) {
	for _, tc := range []struct {
		path string
		show Descriptors
		want string
	}{
		{"/dev/null", NoDescriptors, "3"}, {"/dev/null", PathDescriptors, "3</dev/null>"}, {"/dev/null", AllDescriptors, "3</dev/null<char 1:3>>"},
		{"/dev/null", SocketDescriptors, "3"}, {"socket:[5]", SocketDescriptors, "3<TCP:[1->2]>"}, {"socket:[5]", PathDescriptors | DeviceDescriptors, "3<socket:[5]>"},
		{"anon_inode:[pidfd]", PidDescriptors, "3<pid:77>"}, {"anon_inode:[pidfd]", PathDescriptors, "3<anon_inode:[pidfd]>"},
	} {
		c := native("openat")
		c.Args, c.Mem, c.Files, c.Show, c.Ret = [6]uint64{1<<64 - 100, 8}, nothing{}, connected{tc.path}, tc.show, 3
		if got := string(AppendResult(nil, c)); got != tc.want {
			t.Errorf("%s, %b: %s, want %s", tc.path, tc.show, got, tc.want)
		}
		args, _ := Enter(c)
		if named := args[0] == "AT_FDCWD</here>"; named != (tc.show&PathDescriptors != 0) {
			t.Errorf("%b: %s", tc.show, args[0])
		}
	}
}
