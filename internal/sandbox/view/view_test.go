package view

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/paths"
)

// steps returns all steps of a view, in words.
func steps(t *testing.T, v View) []string {
	t.Helper()
	tree, err := v.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, s := range append(tree.Steps, tree.Own...) {
		words = append(words, s.String())
	}
	return words
}

// direct is a view of a workspace without a database.
func direct(t *testing.T) View {
	return View{
		UID: 1000, GID: 1001, Workspace: Home + "/ws", WorkspaceHost: t.TempDir(),
		WorkspaceSource: "/ws", Passwd: "/s/passwd", Group: "/s/group", Network: true,
	}
}

func TestTreeAlways(t *testing.T) {
	got := steps(t, direct(t))
	for _, want := range []string{
		"tmpfs /tmp 1777", "tmpfs /var/tmp 1777", "proc /proc", "tmpfs /dev 0755", "devices /dev", "seal /dev", "seal /home",
		"ro-bind /s/passwd /etc/passwd", "ro-bind /s/group /etc/group",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestArgs(t *testing.T) {
	v := direct(t)
	v.Traced = true
	args := func() string {
		return strings.Join(v.Args("/root", &ProcCovers{Files: []string{"/proc/uptime", "/proc/none"}, Dirs: []string{"/proc/tty"}, Guarded: []string{"/proc/sys"}}, 7, 8), " ")
	}
	got := args()
	for _, want := range []string{
		"--unshare-user --uid 1000 --gid 1001", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--cap-drop ALL", "--json-status-fd 7", "--add-seccomp-fd 8", "--dev-bind /root / --unshare-pid --proc /proc --ro-bind /proc/sys /proc/sys --ro-bind /dev/null /proc/uptime --tmpfs /proc/tty --remount-ro /proc/tty --chdir", "--chdir " + Home + "/ws",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "--unshare-net") {
		t.Error("the network is gone though it was asked for")
	}
	v.Network = false
	if !strings.Contains(args(), "--unshare-net") {
		t.Error("the network is there though it was not asked for")
	}
	if slices.Contains(steps(t, v), "proc /proc") {
		t.Error("/proc is mounted before there is a process namespace")
	}
	v.Traced = false
	if got := args(); strings.Contains(got, "/proc") || strings.Contains(got, "--unshare-pid") {
		t.Errorf("there are two process namespaces: %s", got)
	}
}

func TestTreeHome(t *testing.T) {
	got := steps(t, direct(t))
	tmpfs, workspace := slices.Index(got, "tmpfs "+Home+" 0700"), slices.Index(got, "bind /ws "+Home+"/ws")
	if tmpfs < 0 || workspace < tmpfs {
		t.Errorf("direct mode: home at %d, workspace at %d: %q", tmpfs, workspace, got)
	}
	v := direct(t)
	v.HomeSource, v.WorkspaceSource = "/s/home", ""
	got = steps(t, v)
	if !slices.Contains(got, "bind /s/home "+Home) || slices.Contains(got, "tmpfs "+Home+" 0700") {
		t.Errorf("overlay mode: %q", got)
	}

	v = direct(t)
	v.HomeDir = "/homes/x"
	got = steps(t, v)
	dir, workspace := slices.Index(got, "bind /homes/x "+Home), slices.Index(got, "bind /ws "+Home+"/ws")
	if dir < 0 || workspace < dir || slices.Contains(got, "tmpfs "+Home+" 0700") {
		t.Errorf("direct mode in a home: home at %d, workspace at %d: %q", dir, workspace, got)
	}
	v.HomeSource, v.WorkspaceSource = "/s/home", ""
	v.Name = "ws"
	v.Binds = []Mount{{"/s/2", Home + "/cache", false}}
	got = steps(t, v)
	database, dir, cache := slices.Index(got, "bind /s/home "+Home), slices.Index(got, "bind /homes/x "+Home+" around "+Home+"/ws"), slices.Index(got, "bind /s/2 "+Home+"/cache")
	if database < 0 || dir < database || cache < dir {
		t.Errorf("overlay mode in a home: database at %d, home at %d, mount at %d: %q", database, dir, cache, got)
	}
}

func TestTreeOrder(t *testing.T) {
	v := direct(t)
	v.Binds = []Mount{{"/s/2", Home + "/cache", false}, {"/s/3", "/srv", true}}
	got := steps(t, v)
	last := -1
	for _, want := range []string{
		"tmpfs /tmp 1777", "tmpfs /home 0755", "bind /ws " + Home + "/ws", "bind /s/2 " + Home + "/cache",
		"ro-bind /s/3 /srv", "seal /dev",
	} {
		i := slices.Index(got, want)
		if i < last {
			t.Errorf("%q is at %d, before what it follows at %d", want, i, last)
		}
		last = i
	}
}

func TestTreeAtTheHostsPath(t *testing.T) {
	v := direct(t)
	v.HostPath = "/root"
	v.PersonalDirs = []string{"/root"}
	v.Binds = []Mount{{Source: "in", Guest: "/root/in"}, {Source: "data", Guest: "/opt"}}
	if err := os.Mkdir(filepath.Join(v.WorkspaceHost, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := steps(t, v)
	first, same, within := slices.Index(got, "bind data /opt"), slices.Index(got, "same "+Home+"/ws /root"), slices.Index(got, "bind in /root/in")
	if first < 0 || same < first || within < same {
		t.Errorf("in the wrong order: %q", got)
	}
	// It would be the workspace that loses the permission to be written.
	if slices.Contains(got, "seal /root") {
		t.Errorf("the workspace is sealed: %q", got)
	}
	v.Binds[0].Guest = "/root/none"
	if _, err := v.Tree(); err == nil {
		t.Error("a mount point is made in the workspace on the host")
	}
}

func TestTreeHidesHomes(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, hidden := range map[string]bool{
		"/srv": true, "/": false, "/usr/sbin": false, "/bin": false, "/home/me": false, // by /home
		"/nonexistent": false, home: !paths.Within(home, "/tmp") && !paths.Within(home, "/var/tmp"),
	} {
		v := direct(t)
		v.PersonalDirs = []string{dir}
		got := steps(t, v)
		if is := slices.Contains(got, "tmpfs "+dir+" 0755"); is != hidden {
			t.Errorf("the home %s: hidden: %v, want %v", dir, is, hidden)
		}
		if hidden && !slices.Contains(got, "seal "+dir) {
			t.Errorf("the hidden home %s can be written", dir)
		}
	}
}

func TestTreeMakesMountPoints(t *testing.T) {
	v := direct(t)
	v.Binds = []Mount{{"/s/2", "/etc/art-test/a", true}, {"/s/3", "/art-test", true}}
	got := steps(t, v)
	for _, dir := range []string{"/", "/etc"} {
		if !slices.Contains(got, "shadow "+dir) {
			t.Errorf("%s cannot take a new mount point: %q", dir, got)
		}
		if !slices.Contains(got, "seal "+dir) {
			t.Errorf("%s stays writable", dir)
		}
	}
	if tree, err := v.Tree(); err != nil || !tree.Apart || tree.Steps[0].String() != "shadow /" {
		t.Errorf("the root changes in place: %v", err)
	}
}

// What runs while the tree changes must not lose what it stands on.
func TestTreeApart(t *testing.T) {
	v := direct(t)
	for program, want := range map[string]bool{"/usr/bin/bwrap": false, "/home/me/bin/bwrap": true, "/tmp/bwrap": true, "/srv/bwrap": true} {
		v.PersonalDirs, v.Programs = []string{"/srv"}, []string{program}
		tree, err := v.Tree()
		if err != nil {
			t.Fatal(err)
		}
		// On a machine without /home and the like, the root changes in any case.
		if tree.Apart != (want || len(shadows([]string{"/home", "/tmp", "/var/tmp", "/run"}, nil)) > 0) || tree.Apart && tree.Steps[0].String() != "shadow /" {
			t.Errorf("%s: apart: %v, want %v", program, tree.Apart, want)
		}
	}
}

func TestTreeRefusesToWriteTheWorkspace(t *testing.T) {
	v := direct(t)
	v.Binds = []Mount{{"/s/2", Home + "/ws/new", true}}
	if _, err := v.Tree(); err == nil {
		t.Error("a mount point would be made in the host's workspace")
	}
	if err := os.Mkdir(filepath.Join(v.WorkspaceHost, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(steps(t, v), "ro-bind /s/2 "+Home+"/ws/new") {
		t.Error("a bind over a directory of the workspace is missing")
	}
}

func TestProcIsCovered(t *testing.T) {
	v := direct(t)
	covers := func(dir string) *ProcCovers {
		c, err := v.ProcCovers(dir)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := covers("/proc"); !slices.Contains(c.Files, "/proc/keys") || !slices.Contains(c.Dirs, "/proc/acpi") || !slices.Contains(c.Guarded, "/proc/sys") {
		t.Errorf("a user's guest: %+v", c)
	}
	v.Nests = true
	if c := covers("/proc"); len(c.Files)+len(c.Dirs)+len(c.Guarded) > 0 {
		t.Errorf("a user's guest cannot mount its own /proc: %+v", c)
	}
	v.CallerIsRoot = true
	remount := func() bool {
		return strings.Contains(strings.Join(v.Args("/", &ProcCovers{}, 7, 8), " "), "--remount-ro /proc")
	}
	if remount() {
		t.Error("a sandbox within cannot be told its ids")
	}
	v.Nests = false
	if c := covers("/proc"); !remount() || len(c.Guarded) > 0 || !slices.Contains(c.Files, "/proc/keys") {
		t.Errorf("root's guest: %+v, read-only: %v", c, remount())
	}
	v.Nests = true
	dir := t.TempDir()
	for _, name := range []string{"misc", "7"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "sys"), 0o555), os.Symlink("7", filepath.Join(dir, "self"))); err != nil {
		t.Fatal(err)
	}
	if c := covers(dir); !slices.Equal(c.Guarded, []string{"/proc/misc", "/proc/sys"}) || !slices.Contains(c.Files, "/proc/keys") {
		t.Errorf("root's guest: %+v", c)
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
		"/": "/", dir + "/link/bin/no/such": paths.Resolve("/usr/bin") + "/no/such", dir + "/none/..": dir, dir + "/link": "/usr",
	} {
		if got := paths.Resolve(path); got != want {
			t.Errorf("%s resolves to %s, want %s", path, got, want)
		}
	}
}

// Links in what the guest does not see of the host lead nowhere.
func TestResolveOutside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	homes := filepath.Join(dir, "homes")
	if err := os.MkdirAll(filepath.Join(homes, "me"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"home": "homes", "homes/me/tool": "/usr/bin/tool", "homes/me/bin": "../../usr", "bin": dir + "/usr/bin//", "loop": "loop", "up": "./homes/../homes/me",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/home/me/tool": "/homes/me/tool", "/homes/me/bin/x": "/homes/me/bin/x", "/bin": "/usr/bin", "/bin/x": "/usr/bin/x",
		"/loop/x": "/loop/x", "/up/tool/x": "/homes/me/tool/x", "/none/x": "/none/x", "": "",
	} {
		if got := resolveOutside(dir+path, []string{"/proc", homes}); got != dir+want {
			t.Errorf("%s resolves to %s, want %s", path, strings.TrimPrefix(got, dir), want)
		}
	}
	if got := resolveOutside("/", nil); got != "/" {
		t.Errorf("/ resolves to %s", got)
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
		"conf":       {"symlink " + at("run/target") + " " + at("run/stub"), "ro-bind " + at("run/target") + " " + at("run/target")},
		"run/target": {"ro-bind " + at("run/target") + " " + at("run/target")},
		"none":       nil,
		"loop":       nil,
	} {
		var got []string
		for _, s := range bringBack(at(path), []string{at("run")}) {
			got = append(got, s.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A link that leads nowhere leads somewhere all the same: there the guest's own file is to be.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	link, hidden := filepath.Join(dir, "resolv.conf"), filepath.Join(dir, "run")
	for path, text := range map[string]string{link: "run/first", filepath.Join(hidden, "first"): "below/last"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(text, path); err != nil {
			t.Fatal(err)
		}
	}
	steps, end := follow(link, []string{hidden})
	if len(steps) != 1 || steps[0].Target != filepath.Join(hidden, "first") || end != filepath.Join(hidden, "below/last") {
		t.Errorf("the steps are %v, up to %s", steps, end)
	}
}
