package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made is a hierarchy of plain files, for hosts whose kernel has none of version 2 to
// give. It is at DIR/cgroup; the caller, whose id is 100, is in the group own.
func made(t *testing.T, own string, files map[string]string) (tree, string) {
	t.Helper()
	top := t.TempDir()
	mount := filepath.Join(top, "cgroup")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(top, "proc/self/mountinfo"), "30 23 0:26 / "+mount+" rw,nosuid shared:9 - cgroup2 cgroup2 rw\n")
	write(filepath.Join(top, "proc/self/cgroup"), "1:name=systemd:/\n0::"+own+"\n")
	for path, text := range files {
		write(filepath.Join(mount, path), text)
	}
	return tree{
		proc: filepath.Join(top, "proc"),
		mkdir: func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			for _, file := range []string{"cgroup.procs", "cgroup.kill", "cgroup.subtree_control", "memory.max", "memory.swap.max", "pids.max"} {
				write(filepath.Join(dir, file), "")
			}
			return nil
		},
		rmdir: func(dir string) error {
			// As the kernel does not know a group that has processes for an empty one.
			if text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")); len(text) > 0 {
				return errors.New("busy")
			}
			return os.RemoveAll(dir)
		},
		write: func(dir, file, text string) error { return writeAsKernel(mount, dir, file, text) },
		writable: func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, "delegated"))
			return err == nil
		},
		below: func(pid int) bool { return pid == 100 },
	}, mount
}

// writeAsKernel writes to a group's file as the kernel takes it: a process is in one group.
func writeAsKernel(mount, dir, file, text string) error {
	if file == "cgroup.procs" {
		groups, _ := filepath.Glob(mount + "/*/cgroup.procs")
		deeper, _ := filepath.Glob(mount + "/*/*/cgroup.procs")
		for _, path := range append(groups, deeper...) {
			pids, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(pids), text+"\n", "")), 0o600); err != nil {
				return err
			}
		}
		text += "\n"
	}
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

var both = Limits{Memory: 64 << 20, Processes: 20}

func TestFind(t *testing.T) {
	const on = "cpu memory pids\n"
	for _, c := range []struct {
		name  string
		own   string
		files map[string]string
		want  string // "" is none
		leave bool
	}{
		{"nothing", "/", map[string]string{"cgroup.procs": "1\n"}, "", false},
		{"a session that root made", "/user.slice/session-1.scope", map[string]string{
			"user.slice/cgroup.subtree_control": on,
			"user.slice/session-1.scope/x":      "",
		}, "", false},
		{"the root of the hierarchy, for root", "/system.slice/ssh.service", map[string]string{
			"delegated": "", "cgroup.subtree_control": on,
			"system.slice/delegated": "", "system.slice/cgroup.subtree_control": "cpu\n",
			"system.slice/ssh.service/delegated": "", "system.slice/ssh.service/cgroup.procs": "100\n7\n",
		}, "/", false},
		{"a scope of one's own", "/u/run.scope", map[string]string{
			"u/delegated": "", "u/cgroup.subtree_control": on,
			"u/run.scope/delegated": "", "u/run.scope/cgroup.controllers": on, "u/run.scope/cgroup.procs": "100\n",
		}, "/u/run.scope", true},
		{"a terminal's scope, among others of the user", "/u/app/term.scope", map[string]string{
			"u/delegated": "", "u/cgroup.subtree_control": on,
			"u/app/delegated": "", "u/app/cgroup.subtree_control": on,
			"u/app/term.scope/delegated": "", "u/app/term.scope/cgroup.controllers": on, "u/app/term.scope/cgroup.procs": "100\n55\n",
		}, "/u/app", false},
		{"a controller too few", "/u/run.scope", map[string]string{
			"u/run.scope/delegated": "", "u/run.scope/cgroup.controllers": "memory\n", "u/run.scope/cgroup.procs": "100\n",
		}, "", false},
		{"beyond what is delegated", "/u/app/term.scope", map[string]string{
			"delegated": "", "cgroup.subtree_control": on,
			"u/app/term.scope/delegated": "", "u/app/term.scope/cgroup.procs": "100\n55\n",
		}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, mount := made(t, c.own, c.files)
			p, err := tree.find(both)
			if c.want == "" {
				if !errors.Is(err, ErrNone) {
					t.Fatalf("%v, %v", p, err)
				}
				return
			}
			if err != nil || p.dir != filepath.Join(mount, c.want) || p.leave != c.leave {
				t.Fatalf("%+v, %v", p, err)
			}
		})
	}
}

func TestNoHierarchy(t *testing.T) {
	tree, _ := made(t, "/", nil)
	if err := os.WriteFile(filepath.Join(tree.proc, "self/mountinfo"), []byte("31 23 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.find(both); !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
}

func text(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestGroup(t *testing.T) {
	tree, mount := made(t, "/u/term.scope", map[string]string{
		"u/delegated": "", "u/cgroup.subtree_control": "memory pids\n",
		"u/term.scope/delegated": "", "u/term.scope/cgroup.procs": "100\n55\n",
		// Less than what is asked for: the guest may have no more for leaving the scope.
		"u/term.scope/pids.max": "7\n", "u/term.scope/memory.max": "max\n",
		// Left by a session that was killed; and what is somebody else's.
		"u/art-session-99-0/cgroup.kill": "", "u/art-session-9.scope/cgroup.kill": "",
	})
	p, err := tree.find(both)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Make(both)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(mount, "u/art-session-99-0")); err == nil {
		t.Error("a killed session's group is still there")
	}
	if kill := text(t, mount, "u/art-session-9.scope/cgroup.kill"); kill != "" {
		t.Error("somebody else's group was taken for a session's")
	}
	if err := g.Add(4711); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "67108864", "memory.swap.max": "0", "pids.max": "7", "cgroup.procs": "4711"} {
		if got := text(t, g.dir, file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
	// Another session leaves it alone.
	other, err := p.Make(Limits{Processes: 3})
	if err != nil {
		t.Fatal(err)
	}
	if kill := text(t, g.dir, "cgroup.kill"); kill != "" || other.dir == g.dir {
		t.Error("a running session's group was swept away")
	}
	if memory := text(t, other.dir, "memory.max"); memory != "" {
		t.Errorf("memory.max is %s, which nobody has asked for", memory)
	}
	other.Close()
	if err := os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte("oom 5\noom_kill 3\noom_group_kill 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := g.Killed(); n != 3 {
		t.Errorf("%d were killed, want 3", n)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.Close()
	if _, err := os.Stat(g.dir); err == nil {
		t.Error("the group is still there")
	}
}

// Where the caller's own group is all that he has, he leaves it for as long as it has
// one of the guest's in it.
func TestLeave(t *testing.T) {
	tree, mount := made(t, "/run.scope", map[string]string{
		"run.scope/delegated": "", "run.scope/cgroup.controllers": "memory pids\n",
		"run.scope/cgroup.subtree_control": "", "run.scope/cgroup.procs": "100\n",
	})
	p, err := tree.find(both)
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Make(both)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(mount, "run.scope")
	for path, want := range map[string]string{
		"cgroup.procs": "", "cgroup.subtree_control": "+memory+pids",
		filepath.Base(g.home.dir) + "/cgroup.procs": "100", filepath.Base(g.dir) + "/pids.max": "20",
	} {
		if got := text(t, own, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	g.Close()
	if procs := text(t, own, "cgroup.procs"); procs != "100" {
		t.Errorf("the caller is not back: %q", procs)
	}
	if left, _ := filepath.Glob(own + "/art-*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
