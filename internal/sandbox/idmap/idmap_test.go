package idmap

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSpare(t *testing.T) {
	if os.Getuid() != 0 {
		if _, err := Spare(); err == nil {
			t.Error("an ordinary user has an id to give away")
		}
		t.Skip("only root gives ids away")
	}
	const all, some = "0 0 4294967295\n", "0 100000 65536\n"
	for _, c := range []struct {
		name     string
		uid, gid string
		files    map[string]string
		want     int // 0 for none
	}{
		{name: "the host", uid: all, gid: all, want: 2_100_001_000},
		{name: "a container", uid: some, gid: some, want: 65_533},
		{name: "a container of few groups", uid: some, gid: "0 100000 1000\n"},
		{name: "several ranges", uid: "0 1000 1\n1 100000 65536\n", gid: "0 1000 1\n1 100000 65536\n", want: 65_533},
		{name: "one id", uid: "0 1000 1\n", gid: "0 1000 1\n"},
		{name: "an account", uid: all, gid: all, files: map[string]string{"/etc/passwd": "root:x:0:0::/:\nx:x:2100001000:1::/:\n"}, want: 65_533},
		{name: "a group", uid: all, gid: all, files: map[string]string{"/etc/group": "# none\nx:x:2100001000:\n"}, want: 65_533},
		{name: "a range of an account", uid: all, gid: all, files: map[string]string{"/etc/subuid": "u:2100000000:65536\n"}, want: 65_533},
		{name: "all", uid: all, gid: all, files: map[string]string{"/etc/subgid": "u:0:4294967295\n"}},
		{name: "AppArmor", uid: all, gid: all, files: map[string]string{
			"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n", "/proc/self/attr/current": "unconfined\n"}},
		{name: "AppArmor with a profile", uid: all, gid: all, files: map[string]string{
			"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n", "/proc/self/attr/current": "art (unconfined)\n"}, want: 2_100_001_000},
	} {
		root := t.TempDir()
		files := map[string]string{"/proc/self/uid_map": c.uid, "/proc/self/gid_map": c.gid}
		for path, text := range c.files {
			files[path] = text
		}
		for path, text := range files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := spare(root); got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%s: %d, %v, want %d", c.name, got, err, c.want)
		}
	}
	if _, err := spare(t.TempDir()); err == nil || !strings.Contains(err.Error(), "uid_map") {
		t.Errorf("without /proc: %v", err)
	}
}

func TestMappings(t *testing.T) {
	own := func(first, size int) syscall.SysProcIDMap {
		return syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size}
	}
	guest := syscall.SysProcIDMap{ContainerID: 0, HostID: 500, Size: 1}
	for _, c := range []struct {
		of   []extent
		want []syscall.SysProcIDMap
	}{
		{[]extent{{0, 1000}}, []syscall.SysProcIDMap{guest, own(1, 499), own(501, 499)}},
		{[]extent{{0, 1}, {400, 101}}, []syscall.SysProcIDMap{guest, own(400, 100)}},
		{[]extent{{500, 10}}, []syscall.SysProcIDMap{guest, own(501, 9)}},
	} {
		if got := mappings(c.of, 500); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}

// What root has is the guest's through the mount, what the guest makes is root's, and the rest is as it is.
func TestApply(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root maps ids")
	}
	const guest = 4711
	m, err := New(guest)
	if err != nil {
		t.Skip(err)
	}
	defer m.Close()
	dir := t.TempDir()
	for name, uid := range map[string]int{"root's": 0, "another's": 33, "the guest's": guest} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(tree)
	if err := m.Apply(tree); err != nil {
		t.Skipf("the file system of %s: %v", dir, err)
	}
	const nobody = 65534
	for name, want := range map[string]uint32{"root's": guest, "another's": 33, "the guest's": nobody} {
		var st unix.Stat_t
		if err := unix.Fstatat(tree, name, &st, 0); err != nil || st.Uid != want || st.Gid != want {
			t.Errorf("what is %s shows as %d:%d, %v, want %d", name, st.Uid, st.Gid, err, want)
		}
	}
	if err := m.Apply(tree); err == nil {
		t.Error("a tree is mapped twice")
	}
}
