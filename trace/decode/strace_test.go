package decode

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// callerVariable makes the test program a process that makes every system call.
const callerVariable = "ART_TEST_MAKE_EVERY_CALL"

func TestMain(m *testing.M) {
	if os.Getenv(callerVariable) != "" {
		makeEveryCall()
	}
	os.Exit(m.Run())
}

// What callerVariable asks for: arguments that point to nothing, or into memory.
const (
	withNumbers = "numbers"
	withMemory  = "memory"
)

// testArgs are the arguments of every call: addresses that hold nothing,
// descriptors that are not open, flags of which some have names.
var testArgs = [6]uint64{0x7001, 0x7002, 0x7003, 0x7004, 0x7005, 0x7006}

// The memory of the process that makes every call: a page that can be read, between two that cannot.
const (
	readableAt   = 0x20000000
	readableSize = 4096
)

// readable is what is in it: small numbers, of which some are addresses in the page, and strings.
func readable() []byte {
	b := make([]byte, readableSize)
	for i := range readableSize / 8 {
		v := uint64(i % 7)
		switch i % 5 {
		case 1:
			v = readableAt + 8*uint64(i%100)
		case 3:
			v = 0x0062006100 + uint64(i%3) // a and b between NULs
		}
		binary.NativeEndian.PutUint64(b[8*i:], v)
	}
	return b
}

// readableArgs are arguments that point into it.
var readableArgs = [6]uint64{readableAt, readableAt + 0x40, readableAt + 0x80, readableAt + 0x100, readableAt + 0x200, readableAt + 0x300}

// makeEveryCall makes every call but exit_group, and two that kill whoever is not
// a probe and that seccomp does not see (x86's uprobe and uretprobe), while a filter answers ENOSYS to
// all of them, so that none has an effect. The Go runtime must not need any
// either, so the filter too is loaded with a raw call.
func makeEveryCall() {
	runtime.LockOSThread()
	exit, _ := syscalls.Native.Number("exit_group")
	var numbers []uintptr
	for _, name := range syscalls.Native.Names() {
		nr, _ := syscalls.Native.Number(name)
		if nr != exit && name != "uprobe" && name != "uretprobe" {
			numbers = append(numbers, uintptr(nr))
		}
	}
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(exit)},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	status := uintptr(0)
	args := testArgs
	if os.Getenv(callerVariable) == withMemory {
		args = readableArgs
	}
	memory, _, mapped := unix.RawSyscall6(unix.SYS_MMAP, readableAt, readableSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
	if mapped != 0 || memory != readableAt {
		panic(mapped)
	}
	copy(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&memory))), readableSize), readable())
	unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		status = uintptr(errno)
		numbers = nil
	}
	for _, nr := range numbers {
		unix.RawSyscall6(nr, uintptr(args[0]), uintptr(args[1]), uintptr(args[2]),
			uintptr(args[3]), uintptr(args[4]), uintptr(args[5]))
	}
	unix.RawSyscall(uintptr(exit), status, 0, 0)
}

// nothing is a memory that cannot be read.
type nothing struct{}

func (nothing) Read(uint64, []byte) int { return 0 }

// text is the whole call as a line of a trace.
func text(c *Call) (line, result string) {
	args, _ := Enter(c)
	return c.Name + "(" + strings.Join(append(args, Exit(c)...), ", ") + ")", string(AppendResult(nil, c))
}

// comment is what strace says about a value without a name. Which names it
// lists differs, so only the number is compared.
var comment = regexp.MustCompile(` /\* [^*]* \*/`)

// traced returns the lines of a process that makes every call under strace, which
// has the given options too.
func traced(t *testing.T, with string, options ...string) []string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(strace, append(append([]string{"-f", "-o", log}, options...), os.Args[0])...)
	// The filter would deny the signal return after a preemption too.
	cmd.Env = append(os.Environ(), callerVariable+"="+with, "GODEBUG=asyncpreemptoff=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("strace: %v\n%s", err, out)
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(content), "\n")
}

// unimplemented returns the call of a line, if it is one that the filter answered.
func unimplemented(line string) (call string, ok bool) {
	_, line, _ = strings.Cut(line, " ")
	return strings.CutSuffix(strings.TrimSpace(line), "= -1 ENOSYS (Function not implemented)")
}

// isName tells a call from what else a line may begin with.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// The classes have the members that strace's have, of the calls that it knows.
func TestClassesAgainstStrace(t *testing.T) {
	members := func(options ...string) []string {
		var names []string
		for _, line := range traced(t, withNumbers, options...) {
			_, call, _ := strings.Cut(line, " ")
			name, _, ok := strings.Cut(strings.TrimSpace(call), "(")
			if ok && isName(name) && !strings.HasPrefix(name, "syscall_0x") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	known := members()
	for _, class := range strings.Fields(`%file %desc %network %process %memory %signal %stat %lstat %fstat %%stat
		%statfs %fstatfs %%statfs %ipc %creds %clock %pure`) {
		want := members("-e", "trace="+class)
		if len(want) == 0 {
			continue // this architecture has none
		}
		set, err := syscalls.Parse(class)
		if err != nil {
			t.Errorf("%s: %v", class, err)
			continue
		}
		got := slices.DeleteFunc(set.Names(), func(name string) bool {
			_, found := slices.BinarySearch(known, name)
			return !found
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s\n   got %v\nstrace %v", class, got, want)
		}
	}
}

// Every call of this architecture that strace knows has the same arguments, printed in the
// same way, when none of them points to anything and when all point to memory.
func TestAgainstStrace(t *testing.T) {
	for _, round := range []struct {
		name        string
		args        [6]uint64
		memory      Memory
		differences map[string]string
	}{
		{withNumbers, testArgs, nothing{}, differences},
		{withMemory, readableArgs, image{readableAt, readable()}, differencesInMemory},
	} {
		t.Run(round.name, func(t *testing.T) {
			compareCalls(t, traced(t, round.name), round.args, round.memory, round.differences)
		})
	}
}

// compareCalls compares the lines of one round.
func compareCalls(t *testing.T, lines []string, args [6]uint64, memory Memory, differences map[string]string) {
	compared := 0
	seen := map[string]bool{}
	for _, line := range lines {
		line, found := unimplemented(line)
		name, _, _ := strings.Cut(line, "(")
		nr, known := syscalls.Native.Number(name)
		if !found || !known || seen[name] {
			continue
		}
		seen[name] = true
		want := strings.TrimSpace(comment.ReplaceAllString(line, ""))
		got, _ := text(&Call{
			Arch: syscalls.Native.Audit, Nr: uint64(nr), Name: name, Args: args, Mem: memory,
			Ret: -int64(unix.ENOSYS), Failed: true,
		})
		got = comment.ReplaceAllString(got, "")
		if reason := differences[name]; reason != "" {
			if got == want {
				t.Errorf("%s: no difference any more: %s", name, reason)
			}
			if strings.Count(got, ",") != strings.Count(want, ",") && reason == numbers {
				t.Errorf("%s: not only %s\n   got %s\nstrace %s", name, reason, got, want)
			}
		} else if got != want {
			t.Errorf("%s\n   got %s\nstrace %s", name, got, want)
		}
		compared++
	}
	if compared < 250 {
		t.Errorf("only %d calls were compared", compared)
	}
	t.Logf("%d calls compared", compared)
}

// Why calls are printed otherwise than by strace 6.1.
const (
	numbers = "rare values are shown as numbers"
	macro   = "rare values are shown as numbers, without the macro that composes them"
	mask    = "there is a | between flags without a name and permissions"
	state   = "it depends on the stack and on the call before"
	newer   = "a name is known here that strace does not know yet"
	address = "the kernel reads the new address with this flag too, so it is shown"
)

var differences = map[string]string{

	"ioctl": macro, "kexec_file_load": numbers, "kexec_load": numbers,
	"personality": numbers,
	"statx":       newer, "mremap": address,
	"rt_sigreturn": state, "restart_syscall": state,
	"msgget": mask, "semget": mask,
}

// Why calls whose arguments point to memory are printed otherwise.
const (
	plain  = "rare structs are shown as addresses"
	parts  = "of a struct that may be longer than is known, no more is shown"
	fuller = "more is known of it here, or more is shown"
)

var differencesInMemory = map[string]string{
	"_sysctl": plain, "get_thread_area": plain, "io_cancel": plain, "io_submit": plain,
	"kexec_load": plain, "mbind": plain, "migrate_pages": plain, "name_to_handle_at": plain,
	"open_by_handle_at": plain, "perf_event_open": plain, "set_mempolicy": plain, "set_thread_area": plain,
	"kexec_file_load":         parts,
	"landlock_create_ruleset": fuller, "sched_setaffinity": fuller, "mount": fuller,

	"restart_syscall": state, "rt_sigreturn": state,
	"msgget": mask, "semget": mask,
}
