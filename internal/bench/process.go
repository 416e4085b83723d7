package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// process is what serves a file system.
type process struct {
	pid int
	// activity tells what it has done so far; nil if it cannot.
	activity func() (activity, error)
}

// activity is what a FUSE server knows of its own work.
type activity struct {
	operations map[string]int64 // how many of each kind it has served
	polling    time.Duration    // for how long it has waited awake when nothing came
}

// usage is what a process has used up to a moment.
type usage struct {
	peak int64         // resident bytes at most since resetPeak
	cpu  time.Duration // of all its threads, user and system
}

// resetPeak makes the kernel forget the peak so far (proc_pid_clear_refs(5), since Linux 4.0).
func (p *process) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0)
}

func (p *process) usage() (usage, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return usage{}, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return usage{}, err
	}
	return parseUsage(string(status), stat)
}

func parseUsage(status string, stat []byte) (u usage, err error) {
	_, rest, ok := strings.Cut(status, "VmHWM:")
	if !ok {
		return u, fmt.Errorf("read the peak of memory: the process has ended")
	}
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		return u, fmt.Errorf("read the peak of memory: %w", err)
	}
	// The name, in parentheses, may hold anything; utime and stime are the 14th and 15th field of
	// all, in ticks of 10 ms (proc_pid_stat(5); USER_HZ is 100 wherever Go runs).
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("read the processor time: %q", stat)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, fmt.Errorf("read the processor time: %w", err)
		}
		ticks += n
	}
	return usage{kib << 10, time.Duration(ticks) * 10 * time.Millisecond}, nil
}

// watch notes the usage of a process until it ends; the function returned waits for that, and
// returns the last that was seen.
func (p *process) watch() func() usage {
	last := make(chan usage)
	go func() {
		var seen usage
		for {
			u, err := p.usage()
			if err != nil {
				last <- seen
				return
			}
			seen = u
			time.Sleep(2 * time.Millisecond)
		}
	}()
	return func() usage { return <-last }
}
