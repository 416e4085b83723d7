package stage

import (
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What changes in a network after a session has begun, a browser takes for another network (see otherIndex and noLocalAddress).
func TestPairStaysAsItIs(t *testing.T) {
	const variable = "ART_TEST_PAIR"
	if os.Getenv(variable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPairStaysAsItIs$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread()
	fd, err := makePair()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := setUp(); err != nil {
		t.Fatal(err)
	}
	if index, link := numbers(t, tunnelName); index == link {
		t.Errorf("both ends have the number %d", index)
	}
	if mode, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + tunnelName + "/addr_gen_mode"); err == nil && strings.TrimSpace(string(mode)) != "1" {
		t.Errorf("the kernel gives it an address by mode %s", mode)
	}
}

// numbers returns those of an interface and of the other end of its pair.
func numbers(t *testing.T, name string) (index, link uint32) {
	t.Helper()
	table, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if messages[i].Header.Type != unix.RTM_NEWLINK {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(&messages[i])
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, a := range attributes {
			switch a.Attr.Type {
			case unix.IFLA_IFNAME:
				found = string(a.Value) == name+"\x00"
			case unix.IFLA_LINK:
				link = binary.NativeEndian.Uint32(a.Value)
			}
		}
		if found {
			return binary.NativeEndian.Uint32(messages[i].Data[4:]), link
		}
	}
	t.Fatalf("there is no %s", name)
	return 0, 0
}
