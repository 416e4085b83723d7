package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/attack"
	"github.com/riverlytech/art/internal/cgroup"
	"github.com/riverlytech/art/internal/hint"
)

// made returns a host with these files, on which nothing works that is tried, and of
// the programs those of a Debian system are there.
func made(t *testing.T, files map[string]string) *host {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refuse := errors.New("permission denied")
	return &host{
		Host: hint.Host{Root: root},
		uid:  1000,
		look: func(name string) (string, error) {
			if name == "apt-get" {
				return "/usr/bin/apt-get", nil
			}
			return "", exec.ErrNotFound
		},
		run:   func(string, ...string) (string, error) { return "", refuse },
		try:   func(string) error { return refuse },
		ring:  func() error { return nil },
		mount: func() error { return refuse },
	}
}

func noGroups(h *host) Finding {
	return h.groups(func(cgroup.Limits) (*cgroup.Place, error) { return nil, cgroup.ErrNone })
}

func TestFindings(t *testing.T) {
	const release, yama = "/proc/sys/kernel/osrelease", "/proc/sys/kernel/yama/ptrace_scope"
	for _, c := range []struct {
		name  string
		files map[string]string
		look  func(*host) Finding
		state State
		says  string // a part of it
		fix   string // a part of it; "" is none
	}{
		{"kernel", map[string]string{release: "6.8.0-31-generic\n"}, (*host).kernel, OK, "Linux 6.8.0", ""},
		{"the oldest kernel", map[string]string{release: "5.12.0"}, (*host).kernel, OK, "5.12", ""},
		{"an older kernel", map[string]string{release: "5.11.22"}, (*host).kernel, Fail, "older than 5.12", "update to a release"},
		{"Ubuntu's older kernel", map[string]string{release: "5.4.0-42-generic", "/etc/os-release": "ID=ubuntu\nVERSION_ID=\"20.04\"\n"}, (*host).kernel, Fail, "older", "sudo apt-get install linux-generic-hwe-20.04`"},
		{"Debian's older kernel", map[string]string{release: "5.10.0-28-amd64", "/etc/os-release": "ID=debian\nVERSION_CODENAME=bullseye\n"}, (*host).kernel, Fail, "older", "-t bullseye-backports linux-image-"},
		{"the older kernel of a container's host", map[string]string{release: "5.4.0", "/.dockerenv": ""}, (*host).kernel, Fail, "older", "host that the container runs on"},
		{"an older kernel in WSL", map[string]string{release: "5.10.16.3-microsoft-standard-WSL2"}, (*host).kernel, Fail, "older", "wsl --update"},
		{"no /proc", nil, (*host).kernel, Fail, "cannot be read", "sudo mount -t proc"},

		{"machine", map[string]string{release: "6.8.0"}, (*host).where, OK, "no container", ""},
		{"docker", map[string]string{"/.dockerenv": ""}, (*host).where, OK, "docker", ""},
		{"podman", map[string]string{"/run/.containerenv": ""}, (*host).where, OK, "podman", ""},
		{"systemd-nspawn", map[string]string{"/run/systemd/container": "systemd-nspawn\n"}, (*host).where, OK, "systemd-nspawn", ""},
		{"WSL2", map[string]string{release: "6.6.87.2-microsoft-standard-WSL2"}, (*host).where, OK, "Linux 2", ""},
		{"WSL1", map[string]string{release: "4.4.0-19041-Microsoft", "/etc/os-release": "ID=debian\nNAME=\"Debian\"\n"}, (*host).where, Fail, "Linux 1", "wsl --set-version Debian 2"},

		{"bubblewrap", nil, (*host).bubblewrap, Fail, "not installed", "sudo apt-get install bubblewrap"},
		{"fusermount3", nil, (*host).fusermount, Note, "not installed", "sudo apt-get install fuse3"},

		{"AppArmor", map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, (*host).namespaces, Fail, "denied", "apparmor_parser -r /etc/apparmor.d/art"},
		{"Debian's switch", map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0\n"}, (*host).namespaces, Fail, "denied", "sudo sysctl kernel.unprivileged_userns_clone=1"},
		{"a count of none", map[string]string{"/proc/sys/user/max_user_namespaces": "0\n"}, (*host).namespaces, Fail, "denied", "sudo sysctl user.max_user_namespaces="},
		{"no namespaces in docker", map[string]string{"/.dockerenv": ""}, (*host).namespaces, Fail, "denied", "--security-opt seccomp=unconfined"},
		{"a hidden /proc", nil, (*host).proc, Fail, "denied", "systempaths=unconfined"},
		{"no FUSE", nil, (*host).fuse, Fail, "no overlay mode", "sudo modprobe fuse"},
		{"no FUSE in docker", map[string]string{"/.dockerenv": ""}, (*host).fuse, Fail, "no overlay mode", "--device /dev/fuse"},
		{"FUSE that may not be opened", map[string]string{"/dev/fuse": ""}, (*host).fuse, Fail, "denied", "sudo chmod 0666 /dev/fuse"},

		{"io_uring", map[string]string{uringParameter: "Y\n", release: "6.14.0"}, (*host).wire, OK, "over io_uring", ""},
		{"a kernel without", map[string]string{release: "6.12.43+deb13-amd64"}, (*host).wire, Note, "/dev/fuse, which is slower than io_uring: the kernel is older than 6.14", "6.14"},
		{"a kernel built without", map[string]string{release: "7.1.0"}, (*host).wire, Note, "there is no /sys/module", "CONFIG_FUSE_IO_URING"},
		{"not enabled", map[string]string{uringParameter: "N\n", release: "6.18.0"}, (*host).wire, Note, "enable_uring is N",
			"run `echo w- " + uringParameter + " - - - - Y | sudo tee /etc/tmpfiles.d/art.conf | sudo systemd-tmpfiles --create -`"},
		{"not enabled in a module", map[string]string{uringParameter: "N\n", "/sys/module/fuse/initstate": "live\n"}, (*host).wire, Note, "enable_uring is N",
			"run `echo options fuse enable_uring=1 | sudo tee /etc/modprobe.d/art.conf && echo Y | sudo tee " + uringParameter + "`"},
		{"enabled at the next start", map[string]string{uringParameter: "N\n", "/usr/lib/tmpfiles.d/art.conf": ""}, (*host).wire, Note, "enable_uring is N", "run `echo Y | sudo tee " + uringParameter + "`"},
		{"not enabled in docker", map[string]string{uringParameter: "N\n", "/.dockerenv": ""}, (*host).wire, Note, "enable_uring is N", "on the host"},

		{"no Yama", nil, (*host).yama, OK, "may trace", ""},
		{"Yama", map[string]string{yama: "1\n"}, (*host).yama, OK, "--attach", ""},
		{"Yama for root", map[string]string{yama: "2\n"}, (*host).yama, Note, "only root", "sudo sysctl kernel.yama.ptrace_scope=1"},
		{"Yama for nobody", map[string]string{yama: "3\n"}, (*host).yama, Note, "nobody", "restart"},

		{"control groups of version 1", nil, noGroups, Note, "for each process by itself", "systemd.unified_cgroup_hierarchy=1"},
		{"control groups of a container", map[string]string{"/.dockerenv": ""}, noGroups, Note, "for each process", "writable"},
		{"control groups of root's", map[string]string{"/sys/fs/cgroup/cgroup.controllers": ""}, noGroups, Note, "for each process", "systemd-run --user --scope -p Delegate=yes art"},

		{"hidepid", map[string]string{"/proc/self/mountinfo": "22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible\n"}, (*host).hidepid, OK, "invisible", ""},
		{"no hidepid", map[string]string{"/proc/self/mountinfo": "22 27 0:21 / /proc rw,relatime - proc proc rw\n"}, (*host).hidepid, OK, "not set", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.look(made(t, c.files))
			if f.State != c.state || !strings.Contains(f.Says, c.says) {
				t.Errorf("%v %s, want %v %s", f.State, f.Says, c.state, c.says)
			}
			if (f.Fix == "") != (c.fix == "") || !strings.Contains(f.Fix, c.fix) {
				t.Errorf("fix %q, want %q", f.Fix, c.fix)
			}
		})
	}
}

// What is lacking comes with what gives it to a container, and what is all right is left out.
func TestLacks(t *testing.T) {
	h := made(t, map[string]string{"/.dockerenv": "", "/proc/sys/kernel/osrelease": "6.18.0"})
	h.try = func(trial string) error {
		if trial == trialProc || trial == trialFUSE {
			return errors.New("permission denied")
		}
		return nil
	}
	findings := append([]Finding{h.kernel(), h.where()}, h.namespaced()...)
	var out bytes.Buffer
	if _, err := Tell(lacks(findings), false, &out); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		if words := strings.Fields(line); words[0] != "fix:" {
			lines = append(lines, strings.Join(words[:2], " "))
		}
	}
	want := []string{
		"FAIL /proc", "docker: --security-opt", "podman: --security-opt", "kubernetes: securityContext:",
		"FAIL FUSE", "docker: --device", "podman: --device", "kubernetes: resources:",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("it lacks\n%s", out.String())
	}
	for what := range manifests { // a finding by that name
		known := []string{h.namespaces().What, h.proc().What, h.fuse().What, h.names().What, noGroups(h).What}
		if !slices.Contains(known, what) {
			t.Errorf("nothing is found about %q", what)
		}
	}
	if all := lacks(findings[:2]); len(all) != 1 || all[0].State != OK {
		t.Errorf("where nothing is lacking, it says %v", all)
	}
}

func TestIDs(t *testing.T) {
	none, able := errors.New("there is none"), errors.New("operation not supported")
	for _, c := range []struct {
		name          string
		uid           int
		spare, mapped error
		state         State
		says          string
	}{
		{"a user", 1000, none, able, OK, "yours"},
		{"root", 0, nil, nil, OK, "4711"},
		{"no id", 0, none, nil, Note, "there is none"},
		{"a file system without", 0, nil, able, Note, "not supported"},
	} {
		h := made(t, nil)
		h.uid, h.spare, h.mapped = c.uid, func() (int, error) { return 4711, c.spare }, func(int, string) error { return c.mapped }
		if f := h.ids(); f.State != c.state || !strings.Contains(f.Says, c.says) || (f.Fix == "") != (c.state == OK) {
			t.Errorf("%s: %v", c.name, f)
		}
	}
}

func TestBubblewrapVersion(t *testing.T) {
	for text, want := range map[string]State{"bubblewrap 0.8.0": OK, "bubblewrap 0.11.0": OK, "bubblewrap 1.0": OK, "bubblewrap 0.6.1": Fail, "": Fail, "bwrap: no": Fail} {
		h := made(t, nil)
		h.look = func(name string) (string, error) { return "/usr/bin/" + name, nil }
		h.run = func(string, ...string) (string, error) { return text, nil }
		if f := h.bubblewrap(); f.State != want || f.State == Fail && f.Fix == "" {
			t.Errorf("%q: %v", text, f)
		}
	}
}

func TestFuseByFusermount(t *testing.T) {
	h := made(t, nil)
	h.mount = func() error { return nil }
	if f := h.fuse(); f.State != OK || !strings.HasPrefix(f.Says, "fusermount3 mounts it") {
		t.Errorf("%v", f)
	}
}

// Where the kernel offers requests over io_uring, but io_uring itself is refused, that is named.
func TestNoRing(t *testing.T) {
	h := made(t, map[string]string{uringParameter: "Y"})
	h.ring = func() error { return unix.EPERM }
	if f := h.wire(); f.State != Note || !strings.Contains(f.Says, "operation not permitted") || !strings.Contains(f.Fix, "sudo sysctl kernel.io_uring_disabled=0") {
		t.Errorf("%v", f)
	}
	if err := ring(); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) {
		t.Error(err)
	}
}

func TestLandlock(t *testing.T) {
	for _, c := range []struct {
		version int
		errno   unix.Errno
		want    State
	}{{6, 0, OK}, {7, 0, OK}, {5, 0, Note}, {0, unix.ENOSYS, Note}, {0, unix.EOPNOTSUPP, Note}} {
		if f := judgeLandlock(c.version, c.errno); f.State != c.want || (f.Fix == "") != (c.want == OK) {
			t.Errorf("version %d, %v: %v", c.version, c.errno, f)
		}
	}
}

// Where there are no namespaces, that is the one thing to mend, and not what follows.
func TestOneCause(t *testing.T) {
	h := made(t, map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0"})
	if found := h.namespaced(); len(found) != 1 || found[0].State != Fail {
		t.Errorf("%v", found)
	}
	h.try = func(string) error { return nil }
	if found := h.namespaced(); len(found) != 5 || found[1].State != OK || found[2].State != OK || found[3].State != Note || found[4].State != OK {
		t.Errorf("%v", found)
	}
}

// What a helper says of why it failed is told in its words.
func TestSaid(t *testing.T) {
	err := said("noise\nart-fuse: start: version 1\nart-fuse: hint: install both\n", fmt.Errorf("exit status 125"))
	f := failure("art-fuse", err)
	if f.Says != "start: version 1" || f.Fix != "install both" {
		t.Errorf("%v", f)
	}
	if f := failure("x", said("", errors.New("exit status 1"))); f.Says != "exit status 1" || f.Fix != "" {
		t.Errorf("%v", f)
	}
}

// Both forms of the attempts agree in what is said and in the exit code.
func TestAttemptsAsJSON(t *testing.T) {
	all := attack.All()
	failed := map[string]string{}
	for _, a := range all {
		failed[a.Name] = "permission denied"
	}
	for _, last := range []string{"permission denied", ""} {
		failed[all[0].Name] = last
		columns := []column{{results: map[string]string{}}, {mode: attack.Direct, results: failed}, {mode: attack.Overlay, results: failed}}
		var table, objects strings.Builder
		want, err := tabulate(columns, nil, &table)
		if err != nil {
			t.Fatal(err)
		}
		got, err := list(columns, nil, &objects)
		if err != nil || got != want {
			t.Errorf("exit code %d, %v, and %d of the table", got, err, want)
		}
		if lines := strings.Count(objects.String(), "\n"); lines != len(all) {
			t.Errorf("%d objects for %d attempts", lines, len(all))
		}
		var first map[string]string
		if err := json.Unmarshal([]byte(objects.String()[:strings.Index(objects.String(), "\n")]), &first); err != nil {
			t.Fatal(err)
		}
		if broke := first["direct"] == succeeds || first["overlay"] == succeeds; first["attempt"] != all[0].Name || first["host"] != succeeds || broke != (last == "") {
			t.Errorf("%q: %v", last, first)
		}
	}
}
