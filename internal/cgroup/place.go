// Package cgroup makes control groups of version 2 (cgroups(7), and
// Documentation/admin-guide/cgroup-v2.rst in the kernel, here "the document"), with
// which a guest's processes are limited all together.
//
// A group is made where the caller has been delegated a part of the hierarchy: within
// a scope of his systemd, or as root. Where there is no such part, limits can only be
// kept for each process by itself (setrlimit(2)).
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNone says that the caller may make no group that could keep the limits.
var ErrNone = errors.New("no control group is delegated")

// Limits are what a group keeps. Zero is none.
type Limits struct {
	// Memory is in bytes, and counts what is cached of files, but no swap, of which there
	// is none then.
	Memory uint64
	// Processes counts threads, too.
	Processes uint64
}

// controllers are those that keep the limits.
func (l Limits) controllers() []string {
	var list []string
	if l.Memory > 0 {
		list = append(list, "memory")
	}
	if l.Processes > 0 {
		list = append(list, "pids")
	}
	return list
}

// Place is where groups can be made.
type Place struct {
	tree
	dir string // groups are made in it
	own string // the caller's group
	// leave says that dir is the caller's own, and that it has to have no processes of its
	// own before its groups can keep limits (the document, "No Internal Process Constraint").
	leave bool
}

// Dir is the path of the directory of groups.
func (p *Place) Dir() string { return p.dir }

// tree is a hierarchy: the kernel's, or in tests a directory.
type tree struct {
	proc  string // where /proc is
	mkdir func(dir string) error
	rmdir func(dir string) error
	write func(dir, file, text string) error
	// writable says whether the caller may make groups in a group.
	writable func(dir string) bool
	// below says whether a process is this one or comes from it.
	below func(pid int) bool
}

var kernel = tree{
	proc:  "/proc",
	mkdir: func(dir string) error { return os.Mkdir(dir, 0o755) },
	rmdir: unix.Rmdir,
	write: write,
	writable: func(dir string) bool {
		// To move a process takes write access to this file of the group that both its old and
		// its new one are in (the document, "Delegation Containment").
		return unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
	},
	below: below,
}

// Find returns where groups can be made that keep the limits l. The error wraps ErrNone
// if there is no such place.
func Find(l Limits) (*Place, error) { return kernel.find(l) }

func (t tree) find(l Limits) (*Place, error) {
	mount, own, err := t.ownGroup()
	if err != nil {
		return nil, err
	}
	wanted := l.controllers()
	p := &Place{tree: t, dir: own, own: own}
	switch {
	case !t.writable(own):
	case t.has(own, "cgroup.subtree_control", wanted):
		return p, nil
	case t.has(own, "cgroup.controllers", wanted) && t.alone(own):
		p.leave = true
		return p, nil
	}
	// Beside the own one, or beside what that is in.
	for p.dir = own; p.dir != mount; {
		p.dir = filepath.Dir(p.dir)
		if !t.writable(p.dir) {
			break // what is above was not delegated either
		}
		if t.has(p.dir, "cgroup.subtree_control", wanted) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w in %s", ErrNone, own)
}

// ownGroup returns where version 2 is mounted, and the caller's group in it.
func (t tree) ownGroup() (mount, own string, err error) {
	mounts, err := os.ReadFile(filepath.Join(t.proc, "self/mountinfo"))
	if err != nil {
		return "", "", fmt.Errorf("find the control groups: %w", err)
	}
	root := ""
	for line := range strings.Lines(string(mounts)) {
		// proc_pid_mountinfo(5): the root and the mount point are the fourth and the fifth
		// field, the type of the file system follows a dash.
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			root, mount = fields[3], fields[4]
		}
	}
	if mount == "" {
		return "", "", fmt.Errorf("%w: version 2 is not mounted", ErrNone)
	}
	groups, err := os.ReadFile(filepath.Join(t.proc, "self/cgroup"))
	if err != nil {
		return "", "", fmt.Errorf("find the control groups: %w", err)
	}
	for line := range strings.Lines(string(groups)) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !ok {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || strings.HasPrefix(rel, "..") {
			return "", "", fmt.Errorf("%w: the caller's, %s, is not in %s", ErrNone, path, mount)
		}
		return mount, filepath.Join(mount, rel), nil
	}
	return "", "", fmt.Errorf("%w: the caller is in none of version 2", ErrNone)
}

// has says whether a file of a group lists all controllers.
func (t tree) has(group, file string, controllers []string) bool {
	text, _ := os.ReadFile(filepath.Join(group, file)) // there is none in the way of one that lists nothing
	listed := strings.Fields(string(text))
	return !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(listed, c) })
}

// alone says whether a group has no processes but this one and what comes from it.
func (t tree) alone(group string) bool {
	pids, err := members(group)
	return err == nil && !slices.ContainsFunc(pids, func(pid int) bool { return !t.below(pid) })
}

// members returns the processes of a group; 0 is one that this process has no id for.
func members(group string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// below says whether a process is this one or comes from it.
func below(pid int) bool {
	for pid != os.Getpid() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return errors.Is(err, os.ErrNotExist) && pid > 0 // it has ended
		}
		// proc_pid_stat(5): the name in parentheses may hold any byte; the state and the
		// parent follow.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if pid, err = strconv.Atoi(fields[1]); err != nil || pid == 0 {
			return false
		}
	}
	return true
}
