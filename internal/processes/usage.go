package processes

import (
	"os"
	"strconv"
	"time"
)

// Usage is what processes use.
type Usage struct {
	Processes int
	Memory    int64         // resident, in bytes; what several share is counted for each
	CPU       time.Duration // of all so far, with those that have ended and were waited for
}

// clockTick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on all that Go runs on.
const clockTick = 10 * time.Millisecond

// UsageBelow looks at all processes once, and returns what tells the usage of one and all its descendants.
func UsageBelow() func(pid int) Usage {
	own, children := map[int]Usage{}, map[int][]int{}
	proc, err := os.Open("/proc")
	if err != nil {
		return func(int) Usage { return Usage{} }
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // what could be read is what there is
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		fields, _, ok := look(pid)
		if !ok {
			continue
		}
		number := func(field int) int64 { // of proc_pid_stat(5)
			n, _ := strconv.ParseInt(fields[field-3], 10, 64)
			return n
		}
		parent := int(number(4))
		children[parent] = append(children[parent], pid)
		own[pid] = Usage{
			Processes: 1,
			Memory:    number(24) * int64(os.Getpagesize()),
			CPU:       time.Duration(number(14)+number(15)+number(16)+number(17)) * clockTick,
		}
	}
	var below func(pid int) Usage
	below = func(pid int) Usage {
		u, list := own[pid], children[pid]
		children[pid] = nil // ids that were used again while all were read may make a ring
		defer func() { children[pid] = list }()
		for _, child := range list {
			c := below(child)
			u.Processes, u.Memory, u.CPU = u.Processes+c.Processes, u.Memory+c.Memory, u.CPU+c.CPU
		}
		return u
	}
	return below
}
