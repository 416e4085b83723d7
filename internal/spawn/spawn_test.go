package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// output runs a program, and returns what it wrote and how it ended.
func output(t *testing.T, c *Command) (string, syscall.WaitStatus) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c.Files = append([]*os.File{null, w, os.Stderr}, c.Files...)
	p, err := c.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	p.Kill() // nobody
	return string(text), status
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// childless fails if there is a child that was not waited for.
func childless(t *testing.T) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("there is child %d left: %v", pid, err)
	}
}

func TestStart(t *testing.T) {
	text, status := output(t, &Command{Path: "/bin/sh", Args: []string{"sh", "-c", `echo "$0 $1 $NAME"; exit 3`, "a", "b"}, Env: []string{"NAME=value"}})
	if text != "a b value\n" || status.ExitStatus() != 3 {
		t.Errorf("%q, exit status %d", text, status.ExitStatus())
	}
	childless(t)
}

func TestCheck(t *testing.T) {
	for script, want := range map[string]string{"exit 0": "<nil>", "exit 3": "exit status 3", "kill -9 $$": "signal: killed"} {
		_, status := output(t, &Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}})
		if got := fmt.Sprint(Check(status, nil)); got != want {
			t.Errorf("%s: %s, not %s", script, got, want)
		}
	}
}

func TestStartOfWhatIsNotThere(t *testing.T) {
	for path, want := range map[string]error{"/nonexistent": unix.ENOENT, "/": unix.EACCES, "a\x00b": unix.EINVAL} {
		if _, err := (&Command{Path: path, Args: []string{"x"}}).Start(); !errors.Is(err, want) {
			t.Errorf("%q: %v, not %v", path, err, want)
		}
	}
	childless(t)
}

// Descriptors come in any order, also such that the first is to be where another one is.
func TestFiles(t *testing.T) {
	var files []*os.File
	for i := range 8 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		fmt.Fprintf(w, "%d\n", i)
		w.Close()
		files = append([]*os.File{r}, files...)
	}
	text, _ := output(t, &Command{Path: "/bin/sh", Args: []string{"sh", "-c", "for i in 3 4 5 6 7 8 9; do cat <&$i; done; ls /proc/self/fd"}, Env: []string{"PATH=/usr/bin:/bin"}, Files: files})
	if !strings.HasPrefix(text, "7\n6\n5\n4\n3\n2\n1\n") {
		t.Errorf("descriptors from 3 on hold %q", text)
	}
	if strings.Contains(text, "\n12\n") {
		t.Errorf("others are open too: %q", text)
	}
}

// What the caller of this process has left open is inherited, unless that is not wanted.
func TestClosed(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	const left = 50
	if err := unix.Dup3(int(null.Fd()), left, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(left)
	for closed, want := range map[bool]string{false: "open\n", true: ""} {
		c := &Command{Path: "/bin/sh", Args: []string{"sh", "-c", "if [ -e /proc/self/fd/50 ]; then echo open; fi"}, Closed: closed}
		if text, _ := output(t, c); text != want {
			t.Errorf("closed: %v: %q, not %q", closed, text, want)
		}
	}
}

// The program has the dispositions of a new one, but for what is ignored, and gets all signals.
func TestSignals(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGUSR1)
	defer signal.Stop(c)
	signal.Ignore(unix.SIGUSR2)
	defer signal.Reset(unix.SIGUSR2)
	text, _ := output(t, &Command{Path: "/bin/cat", Args: []string{"cat", "/proc/self/status"}})
	_, ignored, _ := strings.Cut(read(t, "/proc/self/status"), "SigIgn:") // whoever started the test may have ignored some, too
	ignored, _, _ = strings.Cut(ignored, "\n")
	if mask, err := strconv.ParseUint(strings.TrimSpace(ignored), 16, 64); err != nil || mask&(1<<(unix.SIGUSR2-1)) == 0 {
		t.Fatalf("the test ignores %s, %v", ignored, err)
	}
	for _, want := range []string{"SigBlk:\t0000000000000000\n", "SigCgt:\t0000000000000000\n", "SigIgn:" + ignored + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	var own unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, nil, &own); err != nil || own.Val[0] != 0 {
		t.Errorf("this thread blocks %x (%v)", own.Val[0], err)
	}
}

func TestNamespaces(t *testing.T) {
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	c := &Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", "echo $$; cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups; grep CapAmb /proc/self/status"},
		Env: []string{"PATH=/usr/bin:/bin"}, Flags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		IDs: &IDs{UIDs: own(os.Getuid()), GIDs: own(os.Getgid())}, Capabilities: []uintptr{unix.CAP_SYS_ADMIN}, Setsid: true,
	}
	text, status := output(t, c)
	want := fmt.Sprintf("1 %d %[1]d 1 %d %[2]d 1 deny CapAmb: %016x", os.Getuid(), os.Getgid(), 1<<unix.CAP_SYS_ADMIN)
	if os.Getuid() == 0 {
		want = want[:strings.Index(want, " CapAmb")] // root has all of them, and these are none (capabilities(7))
	}
	if got := strings.Join(strings.Fields(text), " "); !strings.HasPrefix(got, want) || status != 0 {
		t.Errorf("%q, not %q; status %d", got, want, status)
	}
	childless(t)
}

func TestRefusedIDs(t *testing.T) {
	twice := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: 0, HostID: 1, Size: 1}}
	ids := &IDs{UIDs: twice, GIDs: twice}
	if _, err := (&Command{Path: "/bin/true", Args: []string{"true"}, Flags: unix.CLONE_NEWUSER, IDs: ids}).Start(); err == nil {
		t.Error("a program has begun with ids that the kernel refuses")
	}
	if _, err := UserNamespace(ids); err == nil {
		t.Error("there is a user namespace with ids that the kernel refuses")
	}
	childless(t)
}

func TestUserNamespace(t *testing.T) {
	f, err := UserNamespace(&IDs{
		UIDs: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GIDs: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var own, other unix.Stat_t
	if err := errors.Join(unix.Stat("/proc/self/ns/user", &own), unix.Fstat(int(f.Fd()), &other)); err != nil || own.Ino == other.Ino {
		t.Errorf("it is this process's own (%v)", err)
	}
	if kind, err := unix.IoctlRetInt(int(f.Fd()), unix.NS_GET_NSTYPE); err != nil || kind != unix.CLONE_NEWUSER {
		t.Errorf("it is a namespace of kind %x (%v)", kind, err)
	}
	childless(t)
}

// A program begins in the namespaces that it enters, and this process stays where it is, and as open to its own user as it was.
func TestEnter(t *testing.T) {
	f, err := UserNamespace(&IDs{
		UIDs: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GIDs: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	var entered unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &entered); err != nil {
		t.Fatal(err)
	}
	text, status := output(t, &Command{Path: "/bin/readlink", Args: []string{"readlink", "/proc/self/ns/user"}, Enter: []*os.File{f}})
	if want := fmt.Sprintf("user:[%d]\n", entered.Ino); text != want || status != 0 {
		t.Errorf("%q, not %q; status %d", text, want, status)
	}
	after, err := os.Readlink("/proc/self/ns/user")
	dumpable, err2 := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || err2 != nil || after != before || dumpable != 1 {
		t.Errorf("this process is in %s, was in %s, and is dumpable: %d (%v, %v)", after, before, dumpable, err, err2)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := (&Command{Path: "/bin/true", Args: []string{"true"}, Enter: []*os.File{null}}).Start(); !errors.Is(err, unix.EINVAL) {
		t.Errorf("what is no namespace was entered: %v", err)
	}
	childless(t)
}

// The memory that the child has of this process's stays as it is, whatever that does meanwhile.
func TestStartBesideOthers(t *testing.T) {
	end := make(chan struct{})
	var collector, starters sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				runtime.GC()
			}
		}
	})
	for i := range 4 {
		starters.Go(func() {
			for j := range 25 {
				name := fmt.Sprintf("%d-%d", i, j)
				text, status := output(t, &Command{Path: "/bin/echo", Args: []string{"echo", name}, Env: []string{"A=" + strings.Repeat(name, 1000)}})
				if text != name+"\n" || status != 0 {
					t.Errorf("%q, status %x", text, status)
				}
			}
		})
	}
	starters.Wait()
	close(end)
	collector.Wait()
	childless(t)
}

// TestTimerSlack has a program tell its own.
func TestTimerSlack(t *testing.T) {
	const slack = 123456
	text, _ := output(t, &Command{Path: "/bin/cat", Args: []string{"cat", "/proc/self/timerslack_ns"}, TimerSlack: slack})
	if text != fmt.Sprintf("%d\n", slack) {
		t.Errorf("%q", text)
	}
}
