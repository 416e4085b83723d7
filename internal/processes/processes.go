// Package processes tells what a program has started, what of that is still there, and what it uses.
package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process names one process for good: a pid may be used again, but not with
// the same start time.
type Process struct {
	PID   int
	Comm  string // the command's name, cut off after 15 bytes
	start string
}

func (p Process) String() string { return fmt.Sprintf("%s(%d)", p.Comm, p.PID) }

// Tree lists pid and all its descendants, parents first.
func Tree(pid int) []Process {
	p, ok := stat(pid)
	if !ok {
		return nil
	}
	tree := []Process{p}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(children)) {
			child, _ := strconv.Atoi(field)
			tree = append(tree, Tree(child)...)
		}
	}
	return tree
}

// Alive returns those of the processes that have not ended.
func Alive(tree []Process) []Process {
	var left []Process
	for _, p := range tree {
		if now, ok := stat(p.PID); ok && now.start == p.start {
			left = append(left, p)
		}
	}
	return left
}

// Foreground tells whether the process belongs to the foreground job of its terminal, and is not stopped: a shell gives a
// job its terminal before it continues it.
func (p Process) Foreground() bool {
	fields, now, ok := look(p.PID)
	return ok && now.start == p.start && fields[0] != "T" && fields[5-3] == fields[8-3] // process group, the terminal's
}

// stat looks a process up; a zombie has ended. See proc_pid_stat(5): the
// command name stands in parentheses and may itself hold any byte.
func stat(pid int) (Process, bool) {
	_, p, ok := look(pid)
	return p, ok
}

// look is stat, and returns what proc_pid_stat(5) tells of the process from its state, field 3, on.
func look(pid int) (fields []string, p Process, ok bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, Process{}, false
	}
	text := string(line)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	fields = strings.Fields(text[end+1:])
	return fields, Process{PID: pid, Comm: text[open+1 : end], start: fields[22-3]}, fields[0] != "Z"
}

// Mounts lists the mount points below dir.
func Mounts(dir string) []string {
	var found []string
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[4], strings.TrimSuffix(dir, "/")+"/") {
			found = append(found, fields[4])
		}
	}
	return found
}
