package processes

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Below lists at most so many of what is below a process, parents first, which may come from a guest and be very many. What
// has ended and was not waited for is not among them, and neither is what passes over; that is looked below, too.
func Below(pid, most int, pass func(pid int) bool) (list []Process) {
	children := lister()
	seen := map[int]bool{pid: true} // ids may be used again meanwhile
	for queue := []int{pid}; len(queue) > 0 && len(list) < most; queue = queue[1:] {
		for _, child := range children(queue[0]) {
			p, ok := stat(child)
			if !ok || seen[child] {
				continue
			}
			seen[child] = true
			queue = append(queue, child)
			if !pass(child) {
				list = append(list, p)
			}
		}
	}
	return list[:min(len(list), most)]
}

// Parent returns the parent of a process, or 0.
func Parent(pid int) int {
	fields, _, ok := look(pid)
	if !ok {
		return 0
	}
	parent, _ := strconv.Atoi(fields[4-3]) // of proc_pid_stat(5)
	return parent
}

// lister returns what tells the children of a process.
func lister() func(pid int) []int {
	if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err == nil {
		return childrenOf
	}
	// A kernel without CONFIG_PROC_CHILDREN.
	children := map[int][]int{}
	all, _ := os.ReadDir("/proc")
	for _, entry := range all {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if fields, _, ok := look(pid); ok {
				parent, _ := strconv.Atoi(fields[4-3])
				children[parent] = append(children[parent], pid)
			}
		}
	}
	return func(pid int) []int { return children[pid] }
}

// childrenOf reads the children of all threads of a process.
func childrenOf(pid int) (all []int) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		text, _ := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// maxArguments is how much is read of a command line, in bytes.
const maxArguments = 4 << 10

// Commands returns the command line of each process, as far as it can be had in the time: to read one is to read the memory
// of its process, who decides what the kernel finds there. Of others it is the name.
func Commands(list []Process, patience time.Duration) [][]string {
	commands := make([][]string, len(list))
	found := make(chan int, len(list))
	lines := make([][]string, len(list)) // each is its reader's until that says so
	for i, p := range list {
		commands[i] = []string{p.Comm}
		go func() {
			lines[i] = p.arguments()
			found <- i
		}()
	}
	late := time.After(patience)
	for range list {
		select {
		case i := <-found:
			if lines[i] != nil {
				commands[i] = lines[i]
			}
		case <-late:
			return commands
		}
	}
	return commands
}

// arguments reads the command line, or nil if there is none, as of a process that has overwritten it.
func (p Process) arguments() []string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxArguments))
	if text = bytes.TrimRight(text, "\x00"); len(text) == 0 {
		return nil
	}
	return strings.Split(string(text), "\x00")
}
