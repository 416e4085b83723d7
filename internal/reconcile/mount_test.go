package reconcile

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace runs a test again where it may mount file systems, as any user: in a user and mount
// namespace of its own. It returns true there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const variable = "ART_SYNC_TEST_NAMESPACE"
	if os.Getenv(variable) == t.Name() {
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func mountTmpfs(t *testing.T, dir, options string) {
	t.Helper()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

// A full disk is noticed before anything is changed.
func TestFullDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := newBench(t)
	b.write("a", "new")
	b.write("b", strings.Repeat("x", 8<<20))
	b.push()
	dir := b.other()
	mountTmpfs(t, dir, "size=2m")
	must(t, os.WriteFile(dir+"/a", []byte("old"), 0o600))
	setMtime(t, dir, 1000, 1)
	before := tree(t, dir)
	out, _, err := b.run(Pull, dir)
	if !errors.Is(err, unix.ENOSPC) || strings.Contains(out, "FILE") {
		t.Errorf("%v, printed:\n%s", err, out)
	}
	wantTree(t, dir, before)
}

func TestMountInTheWorkspace(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := newBench(t)
	b.write("m/file", "1")
	must(t, os.Symlink("file", b.path("m/link")))
	must(t, os.Chmod(b.path("m/file"), 0o751))
	setMtime(t, b.path("m/file"), 1, 2)
	setMtime(t, b.path("m/link"), 3, 4)
	want := tree(t, b.ws)
	b.push()
	dir := b.other()
	must(t, os.Mkdir(dir+"/m", 0o755))
	mountTmpfs(t, dir+"/m", "")
	b.pull(dir)
	wantTree(t, dir, want)
}

// Where another file system is mounted in the workspace, a file comes with its attributes, replaces nothing that
// has appeared meanwhile, and is on the disk before the database says so.
func TestPullIntoAMount(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := newBench(t)
	must(t, os.Mkdir(b.path("m"), 0o755))
	mountTmpfs(t, b.path("m"), "")
	b.write("m/old", "old")
	b.write("m/changed", "old")
	b.guest(func(g *guest) {
		g.write("m/new", "of the guest")
		g.write("m/other", "of the guest")
		g.write("m/changed", "of the guest")
		g.remove("m/old")
		e, err := g.find("m/new")
		g.must(err)
		g.must(g.overlay.Setxattr(agent, e.Ino, "user.k", []byte("v"), 0))
	})
	var mount unix.Stat_t
	must(t, unix.Stat(b.path("m"), &mount))
	was, synced, first := syncfs, false, true
	defer func() { syncfs = was }()
	syncfs = func(fd int) error {
		var st unix.Stat_t
		must(t, unix.Fstat(fd, &st))
		synced = synced || st.Dev == mount.Dev
		if first { // all is staged
			first = false
			b.write("m/other", "of the host")
			must(t, os.WriteFile(b.path("m/changed"), []byte("of the host"), 0o644))
		}
		return was(fd)
	}
	_, told, err := b.run(Pull, b.ws)
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(told, "ws/m/other: it changes") || !strings.Contains(told, "ws/m/changed: it changes") {
		t.Errorf("%v %s", err, told)
	}
	wantContent(t, b.path("m/new"), "of the guest")
	wantContent(t, b.path("m/other"), "of the host")
	wantContent(t, b.path("m/changed"), "of the host")
	wantAbsent(t, b.path("m/old"))
	if !synced {
		t.Error("the mounted file system was not synced")
	}
	value := make([]byte, 8)
	if n, err := unix.Getxattr(b.path("m/new"), "user.k", value); err != unix.ENOTSUP && (err != nil || string(value[:n]) != "v") {
		t.Errorf("user.k is %q, %v", value[:max(n, 0)], err)
	}
}
