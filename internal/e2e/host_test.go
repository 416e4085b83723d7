package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// process names one process for good: a pid may be used again, but not with
// the same start time.
type process struct {
	pid   int
	comm  string
	start string
}

func (p process) String() string { return fmt.Sprintf("%s(%d)", p.comm, p.pid) }

// processTree lists pid and all its descendants, parents first.
func processTree(pid int) []process {
	p, ok := stat(pid)
	if !ok {
		return nil
	}
	tree := []process{p}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(children)) {
			child, _ := strconv.Atoi(field)
			tree = append(tree, processTree(child)...)
		}
	}
	return tree
}

// alive returns those of the processes that have not ended.
func alive(tree []process) []process {
	var left []process
	for _, p := range tree {
		if now, ok := stat(p.pid); ok && now.start == p.start {
			left = append(left, p)
		}
	}
	return left
}

// stat looks a process up; a zombie has ended. See proc_pid_stat(5): the
// command name stands in parentheses and may itself hold any byte.
func stat(pid int) (process, bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	text := string(line)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[end+1:]) // from state, field 3, on
	return process{pid: pid, comm: text[open+1 : end], start: fields[22-3]}, fields[0] != "Z"
}

// leftovers names what a session that used files below work has left: its
// processes (by command line and working directory), its mounts, and its files
// in the runtime and temporary directories.
func leftovers(work string) []string {
	work += "/"
	var found []string
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range procs {
		cmdline, _ := os.ReadFile(proc + "/cmdline")
		cwd, _ := os.Readlink(proc + "/cwd")
		if strings.Contains(string(cmdline), work) || strings.HasPrefix(cwd+"/", work) {
			found = append(found, "process "+filepath.Base(proc)+": "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	for _, dir := range mountsBelow(work) {
		found = append(found, "mount "+dir)
	}
	for _, dir := range []string{"run", ".tmp"} {
		filepath.WalkDir(work+dir, func(path string, d os.DirEntry, err error) error {
			// Directories that one session makes for all to come may stay.
			if err != nil || !d.IsDir() {
				found = append(found, "file "+path)
			}
			return nil
		})
	}
	return found
}

// mountsBelow lists the mount points below dir, which ends in a slash.
func mountsBelow(dir string) []string {
	var found []string
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[4], dir) {
			found = append(found, fields[4])
		}
	}
	return found
}

// unmountBelow takes down what a failed script has left mounted, so that its
// directory can be removed.
func unmountBelow(work string) {
	for _, dir := range mountsBelow(work + "/") {
		_ = exec.Command("fusermount3", "-u", "-z", dir).Run()
	}
}

// digest is the SHA-256 of a file's content.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
