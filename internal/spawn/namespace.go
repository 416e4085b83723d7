package spawn

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// IDs are those that a user namespace has.
type IDs struct {
	UIDs, GIDs []syscall.SysProcIDMap
	// Setgroups allows setgroups(2) there, which takes a privilege outside.
	Setgroups bool
}

// give writes which ids the user namespace of a process has (user_namespaces(7)).
func (ids *IDs) give(pid int) error {
	groups := "deny"
	if ids.Setgroups {
		groups = "allow"
	}
	for _, f := range []struct{ name, text string }{{"uid_map", lines(ids.UIDs)}, {"setgroups", groups}, {"gid_map", lines(ids.GIDs)}} {
		if err := write(fmt.Sprintf("/proc/%d/%s", pid, f.name), f.text); err != nil {
			return err
		}
	}
	return nil
}

func lines(maps []syscall.SysProcIDMap) string {
	var b strings.Builder
	for _, m := range maps {
		fmt.Fprintf(&b, "%d %d %d\n", m.ContainerID, m.HostID, m.Size)
	}
	return b.String()
}

// write writes at once, which these files demand.
func write(path, text string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

// await has the child wait for its ids. When this process ends before it has given any, so does the child.
func (c *calls) await(ids *pipe) {
	c.add(unix.SYS_CLOSE, uintptr(ids.w))
	c.add(unix.SYS_READ, uintptr(ids.r), address(c, new([1]byte)), 1)
	c.list[len(c.list)-1].least = 1
}

// raise has the child's program begin with capabilities, whoever runs it. All others stay as they are: the kernel leaves out
// those of a set that it does not know (mk_kernel_cap in kernel/capability.c).
func (c *calls) raise(capabilities []uintptr) {
	const all = ^uint32(0)
	data := &[2]unix.CapUserData{{Effective: all, Permitted: all}, {Effective: all, Permitted: all}}
	for _, n := range capabilities {
		data[n/32].Inheritable |= 1 << (n % 32)
	}
	c.add(unix.SYS_CAPSET, address(c, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}), address(c, &data[0]))
	for _, n := range capabilities {
		c.add(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, n)
	}
}

// UserNamespace returns a user namespace with these ids, which no process is in.
func UserNamespace(ids *IDs) (*os.File, error) {
	held, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer held.close()
	l := &calls{}
	l.await(held)
	p, err := l.start(unix.CLONE_NEWUSER)
	if err != nil {
		return nil, err
	}
	err = ids.give(p.Pid)
	var namespace *os.File
	if err == nil {
		namespace, err = os.Open(fmt.Sprintf("/proc/%d/ns/user", p.Pid))
	}
	held.close()
	if _, e := p.Wait(); e != nil && err == nil {
		namespace.Close()
		err = e
	}
	runtime.KeepAlive(l)
	return namespace, err
}
