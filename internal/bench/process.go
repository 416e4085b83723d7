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
	// requests tells how many it has served so far; nil if it cannot.
	requests func() (int64, error)
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
