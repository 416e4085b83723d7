package report

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
	"github.com/riverlytech/art/trace/decode"
)

// tracee is a process with strings in its memory, one a page, that works in /work
// and has /dir open as descriptor 5.
type tracee struct{ pages [][]byte }

const page = 0x1000

func (p *tracee) put(b []byte) uint64 {
	p.pages = append(p.pages, b)
	return uint64(len(p.pages)) * page
}

func (p *tracee) str(s string) uint64 { return p.put([]byte(s + "\x00")) }

func (p *tracee) argv(args ...string) uint64 {
	var b []byte
	for _, arg := range args {
		b = binary.LittleEndian.AppendUint64(b, p.str(arg))
	}
	return p.put(append(b, make([]byte, 8)...))
}

func (p *tracee) Read(addr uint64, buf []byte) int {
	n := addr / page
	if n == 0 || n > uint64(len(p.pages)) {
		return 0
	}
	clear(buf)
	copy(buf, p.pages[n-1][min(addr%page, uint64(len(p.pages[n-1]))):])
	return len(buf)
}

func (p *tracee) Path(fd int) string {
	if fd == 5 {
		return "/dir"
	}
	return ""
}

func (p *tracee) Dir() string { return "/work" }

func (p *tracee) Endpoint(fd int) string {
	return map[int]string{7: "TCP:[127.0.0.1:8080]", 8: `UNIX-STREAM:[4711,"/run/a b"]`, 9: "UNIX-STREAM:[4712]"}[fd]
}

func (p *tracee) Device(int) string { return "" }

// call makes a call of thread 1, which returns ret, and reports it to r.
func (p *tracee) call(t *testing.T, r *Report, ret int64, name string, args ...uint64) {
	t.Helper()
	c := &decode.Call{Pid: 1, Arch: syscalls.Native.Audit, Name: name, Mem: p, Files: p}
	copy(c.Args[:], args)
	if err := r.Enter(c); err != nil {
		t.Fatal(err)
	}
	c.Ret, c.Failed = ret, ret < 0
	if err := r.Exit(c); err != nil {
		t.Fatal(err)
	}
}

func TestReport(t *testing.T) {
	cwd := uint64(1<<64 - 100) // AT_FDCWD
	p := &tracee{}
	var b strings.Builder
	r := New(&b, false)
	p.call(t, r, 0, "execve", p.str("/bin/cc"), p.argv("cc", "-o", "a b", "x.c"), 0)
	p.call(t, r, -int64(unix.ENOENT), "execve", p.str("/sbin/cc"), p.argv("cc"), 0)
	for range 3 {
		p.call(t, r, 3, "openat", cwd, p.str("sub/../in"), unix.O_RDONLY)
	}
	p.call(t, r, 3, "openat", 5, p.str("out"), unix.O_WRONLY|unix.O_CREAT)
	p.call(t, r, 3, "openat", cwd, p.str("/etc/both"), unix.O_RDWR)
	p.call(t, r, 3, "openat2", cwd, p.str("/etc/new"), p.put(binary.LittleEndian.AppendUint64(nil, unix.O_CREAT)))
	p.call(t, r, -int64(unix.ENOENT), "openat", cwd, p.str("/missing"), unix.O_RDONLY)
	p.call(t, r, -int64(unix.EACCES), "openat", cwd, p.str("/etc/shadow"), unix.O_RDONLY)
	p.call(t, r, 0, "renameat2", cwd, p.str("old"), 5, p.str("new name"), 0)
	p.call(t, r, 0, "unlinkat", 5, p.str("gone"), 0)
	p.call(t, r, 0, "symlinkat", p.str("target"), cwd, p.str("link"))
	p.call(t, r, 0, "fchmodat", cwd, p.str("/file\n"), 0)
	p.call(t, r, 0, "openat", cwd, 8, 0) // not readable
	inet := []byte("\x02\x00\x00\x50\xc0\x00\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00")
	p.call(t, r, -int64(unix.EINPROGRESS), "connect", 3, p.put(inet), 16)
	p.call(t, r, -int64(unix.ECONNREFUSED), "connect", 3, p.put([]byte("\x01\x00/run/s\x00")), 9)
	p.call(t, r, 5, "sendto", 3, 0, 5, 0, p.put(inet), 16)
	p.call(t, r, 5, "sendto", 3, 0, 5, 0, 0, 0) // to where it is connected
	p.call(t, r, 0, "listen", 7, 5)
	p.call(t, r, 0, "listen", 8, 5)
	p.call(t, r, 0, "listen", 9, 5)
	p.call(t, r, 0, "listen", 10, 5)
	p.call(t, r, -int64(unix.EINVAL), "listen", 7, 5)
	p.call(t, r, -int64(unix.EPERM), "setuid", 0)
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	const want = `programs executed: 1
  cc -o "a b" x.c

files read: 1
  /work/: in

files written or changed: 5
  /: "file\n"
  /dir/: "new name" out
  /etc/: new
  /work/: link

files opened to read and write: 1
  /etc/: both

files deleted or renamed: 2
  /dir/: gone
  /work/: old

connections: 2
  192.0.2.1:80 (2 times)
  /run/s (ECONNREFUSED)

servers: 4
  TCP 127.0.0.1:8080
  UNIX-STREAM "/run/a b"
  UNIX-STREAM without a name
  descriptor 10

calls refused: 2
  openat /etc/shadow: EACCES
  setuid(0): EPERM
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(r.pending) > 0 {
		t.Errorf("%d calls are taken for unfinished", len(r.pending))
	}
}

// What a run does without end takes memory that has one.
func TestBounds(t *testing.T) {
	var c counter
	var files tree
	for i := range maxEntries + 10 {
		name := string(rune('a'+i%26)) + strings.Repeat("x", i%7) + string(rune(0x1000+i/26))
		c.add(name, nil)
		files.add("/d/" + name)
		files.add("/d/" + name)
	}
	var b strings.Builder
	c.write(&b, "lines")
	files.write(&b, "files")
	if got := b.String(); strings.Count(got, "  and ") != 2 || len(c.order) != maxEntries || files.size != maxEntries {
		t.Errorf("%d lines and %d files are kept", len(c.order), files.size)
	}
	if n := strings.Count(b.String()[strings.Index(b.String(), "files: "):], "x"); n < maxEntries {
		t.Errorf("names are left out")
	}
	large := counter{}
	for i := range 100 {
		large.add(strings.Repeat("x", 1<<20)+strconv.Itoa(i), nil)
	}
	if large.bytes > maxBytes || large.more != 100-len(large.order) || len(large.order) < 60 {
		t.Errorf("%d bytes are kept of %d lines", large.bytes, len(large.order))
	}
}

// For programs a report is an object, with everything in it and the arguments apart.
func TestObject(t *testing.T) {
	p := &tracee{}
	var b strings.Builder
	r := New(&b, true)
	p.call(t, r, 0, "execve", p.str("/bin/cc"), p.argv("cc", "a b", "<\xff>"), 0)
	for i := range 20 {
		p.call(t, r, 3, "openat", 5, p.str("name"+strconv.Itoa(i)), unix.O_RDONLY)
	}
	p.call(t, r, 0, "listen", 7, 5)
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Programs, Servers []entry
		Read, Written     []string
		Refused           []entry
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Programs[0].Argv, []string{"cc", "a b", "<\ufffd>"}) || got.Servers[0].Text != "TCP 127.0.0.1:8080" || len(got.Read) != 20 || got.Written == nil || got.Refused == nil {
		t.Errorf("%s", b.String())
	}
}

// Who selects the calls does not have this package, only the table.
func TestCallsAreNamed(t *testing.T) {
	for _, arch := range []*syscalls.Arch{&syscalls.AMD64, &syscalls.ARM64} {
		for _, c := range arch.All() {
			if _, told := actions[c.Name]; told != c.Reported() {
				t.Errorf("%s: in a report %v, selected %v", c.Name, told, c.Reported())
			}
		}
	}
	for name := range actions {
		if syscalls.Lookup(name) == nil {
			t.Errorf("there is no call %s", name)
		}
	}
}

// What a 32-bit program does is in a report, with the arguments that mean the same there.
func TestForeign(t *testing.T) {
	p := &tracee{}
	var b strings.Builder
	r := New(&b, false)
	call := func(ret int64, name string, args ...uint64) {
		c := &decode.Call{Pid: 1, Arch: syscalls.AuditI386, Name: name, Mem: p, Files: p}
		copy(c.Args[:], args)
		if err := r.Enter(c); err != nil {
			t.Fatal(err)
		}
		c.Ret, c.Failed = ret, ret < 0
		if err := r.Exit(c); err != nil {
			t.Fatal(err)
		}
	}
	call(0, "execve", p.str("/bin/cc"), p.argv("cc"))
	call(3, "open", p.str("in"), unix.O_RDONLY)
	call(3, "openat", 0xffffff9c, p.str("out"), unix.O_WRONLY|unix.O_CREAT)
	call(3, "sendmsg", 3, p.str("another layout"))
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"executed: 1\n  /bin/cc\n", "read: 1\n  /work/: in\n", "changed: 1\n  /work/: out\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
