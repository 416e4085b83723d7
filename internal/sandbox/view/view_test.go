package view

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// op returns the position in args of the operation that begins with words.
func op(args []string, words ...string) int {
	for i := range args {
		if len(args)-i >= len(words) && slices.Equal(args[i:i+len(words)], words) {
			return i
		}
	}
	return -1
}

func args(t *testing.T, v View) []string {
	t.Helper()
	got, err := v.Args()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// direct is a view of a workspace without a database.
func direct(t *testing.T) View {
	return View{
		UID: 1000, GID: 1001, Workspace: Home + "/ws", WorkspaceHost: t.TempDir(),
		WorkspaceSource: "/s/0", Passwd: "/s/passwd", Group: "/s/group", Network: true, StatusFD: 7,
	}
}

func TestArgsAlways(t *testing.T) {
	got := args(t, direct(t))
	for _, want := range [][]string{
		{"--unshare-user", "--uid", "1000", "--gid", "1001"},
		{"--unshare-pid"}, {"--unshare-ipc"}, {"--unshare-uts"}, {"--unshare-cgroup-try"},
		{"--die-with-parent"}, {"--cap-drop", "ALL"}, {"--json-status-fd", "7"},
		{"--proc", "/proc"}, {"--dev", "/dev"}, {"--tmpfs", "/dev/shm"}, {"--tmpfs", "/tmp"}, {"--tmpfs", "/var/tmp"},
		{"--ro-bind", "/s/passwd", "/etc/passwd"}, {"--ro-bind", "/s/group", "/etc/group"},
		{"--chdir", Home + "/ws"},
	} {
		if op(got, want...) < 0 {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if op(got, "--unshare-net") >= 0 {
		t.Error("the network is gone though it was asked for")
	}
	v := direct(t)
	v.Network = false
	if op(args(t, v), "--unshare-net") < 0 {
		t.Error("the network is there though it was not asked for")
	}
}

func TestArgsHome(t *testing.T) {
	got := args(t, direct(t))
	tmpfs, workspace := op(got, "--tmpfs", Home), op(got, "--bind", "/s/0", Home+"/ws")
	if tmpfs < 0 || workspace < tmpfs {
		t.Errorf("direct mode: home at %d, workspace at %d: %q", tmpfs, workspace, got)
	}
	v := direct(t)
	v.HomeSource, v.WorkspaceSource = "/s/home", ""
	got = args(t, v)
	if op(got, "--bind", "/s/home", Home) < 0 || op(got, "--tmpfs", Home) >= 0 {
		t.Errorf("overlay mode: %q", got)
	}
}

func TestArgsOrder(t *testing.T) {
	v := direct(t)
	v.ConfigSource = "/s/1"
	v.Binds = []Mount{{"/s/2", Home + "/cache", false}, {"/s/3", "/srv", true}}
	got := args(t, v)
	last := -1
	for _, want := range [][]string{
		{"--ro-bind", "/", "/"}, {"--proc", "/proc"}, {"--tmpfs", "/tmp"}, {"--tmpfs", "/home"},
		{"--bind", "/s/0", Home + "/ws"}, {"--bind", "/s/2", Home + "/cache"}, {"--ro-bind", "/s/3", "/srv"},
		{"--ro-bind", "/s/1", Home + "/ws/.art"}, {"--chmod", "0555", "/dev"},
	} {
		i := op(got, want...)
		if i < last {
			t.Errorf("%q is at %d, before what it follows at %d", want, i, last)
		}
		last = i
	}
}

func TestArgsHidesHomes(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, hidden := range map[string]bool{
		"/srv": true, "/": false, "/usr/sbin": false, "/bin": false, "/home/me": false, // by /home
		"/nonexistent": false, home: !Within(home, "/tmp") && !Within(home, "/var/tmp"),
	} {
		v := direct(t)
		v.PersonalDirs = []string{dir}
		if got := op(args(t, v), "--tmpfs", dir) >= 0; got != hidden {
			t.Errorf("the home %s: hidden: %v, want %v", dir, got, hidden)
		}
	}
}

func TestArgsMakesMountPoints(t *testing.T) {
	v := direct(t)
	v.Binds = []Mount{{"/s/2", "/etc/art-test/a", true}, {"/s/3", "/art-test", true}}
	got := args(t, v)
	if op(got, "--ro-bind", "/", "/") >= 0 {
		t.Error("the root cannot take a new mount point")
	}
	shadow := op(got, "--tmpfs", "/etc")
	if shadow < 0 || op(got, "--ro-bind-try", "/etc/hosts", "/etc/hosts") < shadow || op(got, "--ro-bind-try", "/etc", "/etc") > shadow {
		t.Errorf("/etc cannot take a new mount point: %q", got)
	}
	for _, dir := range []string{"/", "/etc"} {
		if op(got, "--remount-ro", dir) < 0 {
			t.Errorf("%s stays writable", dir)
		}
	}
}

func TestArgsRefusesToWriteTheWorkspace(t *testing.T) {
	v := direct(t)
	v.Binds = []Mount{{"/s/2", Home + "/ws/new", true}}
	if got, err := v.Args(); err == nil {
		t.Errorf("a mount point would be made in the host's workspace: %q", got)
	}
	if err := os.Mkdir(filepath.Join(v.WorkspaceHost, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	if op(args(t, v), "--ro-bind", "/s/2", Home+"/ws/new") < 0 {
		t.Error("a bind over a directory of the workspace is missing")
	}
}

func TestArgsGuardProcForRoot(t *testing.T) {
	v := direct(t)
	if op(args(t, v), "--ro-bind", "/proc/sys", "/proc/sys") >= 0 {
		t.Error("a user's guest cannot mount its own /proc")
	}
	v.CallerIsRoot = true
	got := args(t, v)
	proc := op(got, "--proc", "/proc")
	for _, want := range [][]string{
		{"--ro-bind", "/proc/sys", "/proc/sys"},
	} {
		if i := op(got, want...); i < proc {
			t.Errorf("%q is at %d, /proc at %d", want, i, proc)
		}
	}
	if op(got, "--ro-bind", "/proc/self", "/proc/self") >= 0 || op(got, "--ro-bind", "/proc/1", "/proc/1") >= 0 {
		t.Error("the guest sees processes of the host")
	}
}

func TestHoldsWritable(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a/b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(deep, "file")
	for _, mode := range []os.FileMode{0o444, 0o644, 0o200} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if got := holdsWritable(dir); got != (mode&0o200 != 0) {
			t.Errorf("mode %o deep inside: %v", mode, got)
		}
	}
	if !holdsWritable(filepath.Join(dir, "none")) {
		t.Error("what cannot be looked at counts as harmless")
	}
}

func TestResolve(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/": "/", dir + "/link/bin/no/such": Resolve("/usr/bin") + "/no/such", dir + "/none/..": dir, dir + "/link": "/usr",
	} {
		if got := Resolve(path); got != want {
			t.Errorf("%s resolves to %s, want %s", path, got, want)
		}
	}
}

func TestPasswdAndGroup(t *testing.T) {
	host := []byte("root:x:0:0:root:/root:/bin/bash\nagent:x:77:77::/old:/bin/sh\nme:x:1000:1000::/home/me:/bin/zsh\nbroken\nlast:x:10000:1::/:/bin/sh")
	want := "agent:x:1000:100:agent:/home/agent:/bin/zsh\nroot:x:0:0:root:/root:/bin/bash\nbroken\nlast:x:10000:1::/:/bin/sh\n"
	if got := string(PasswdFile(host, 1000, 100, "/bin/zsh")); got != want {
		t.Errorf("passwd is\n%s\nwant\n%s", got, want)
	}
	host = []byte("root:x:0:\nusers:x:100:me\nagent:x:5:")
	if got, want := string(GroupFile(host, 100)), "agent:x:100:\nroot:x:0:\n"; got != want {
		t.Errorf("group is\n%s\nwant\n%s", got, want)
	}
}

func TestEnviron(t *testing.T) {
	caller := []string{"PATH=/evil", "HOME=/root", "TERM=xterm", "LC_ALL=C", "LANG=de_DE", "SECRET=1", "TOKEN=a=b", "LD_PRELOAD=/x"}
	got, err := Environ(caller, []string{"TOKEN", "UNSET", "A=1", "A=2", "PATH=/mine", "EMPTY="}, Home+"/ws")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"A=2", "ART_SANDBOX=1", "EMPTY=", "HOME=/home/agent", "LANG=de_DE", "LC_ALL=C", "LOGNAME=agent",
		"PATH=/mine", "PWD=/home/agent/ws", "TERM=xterm", "TOKEN=a=b", "USER=agent"}
	if !slices.Equal(got, want) {
		t.Errorf("the environment is %q, want %q", got, want)
	}
	for _, bad := range []string{"", "=x", "ART_SANDBOX=0", "A=\x00", "DOTENV_PRIVATE_KEY=1", "DOTENV_PRIVATE_KEY_PRODUCTION=1"} {
		if got, err := Environ(nil, []string{bad}, ""); err == nil {
			t.Errorf("%q was taken: %q", bad, got)
		}
	}
}

func TestBringBack(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("run/target"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"conf": "run/stub", "run/stub": at("run/target"), "loop": "loop"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"conf":       {"--symlink", at("run/target"), at("run/stub"), "--ro-bind-try", at("run/target"), at("run/target")},
		"run/target": {"--ro-bind-try", at("run/target"), at("run/target")},
		"none":       nil,
		"loop":       nil,
	} {
		var b builder
		b.bringBack(at(path), []string{at("run")})
		if !slices.Equal(b.args, want) {
			t.Errorf("%s: %q, want %q", path, b.args, want)
		}
	}
}
