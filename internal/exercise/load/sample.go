package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/processes"
)

// used is what processes use.
type used struct {
	processes, threads, descriptors, inotify float64
	memory                                   float64 // in bytes: each shared page by its share, or as a whole where that is not told
	hidden                                   float64 // processes whose descriptors are not told
}

func (u *used) add(o used) {
	u.processes, u.threads, u.descriptors, u.inotify = u.processes+o.processes, u.threads+o.threads, u.descriptors+o.descriptors, u.inotify+o.inotify
	u.memory, u.hidden = u.memory+o.memory, u.hidden+o.hidden
}

func (u *used) divide(n float64) {
	u.processes, u.threads, u.descriptors, u.inotify, u.memory, u.hidden = u.processes/n, u.threads/n, u.descriptors/n, u.inotify/n, u.memory/n, u.hidden/n
}

// sample is what all sessions use at a moment.
type sample struct {
	sessions  int
	programs  map[string]*used // of one session, on average
	spaces    map[string]int   // namespaces of all sessions, by kind
	resident  bool             // the memory of some is all that is resident
	available int64            // bytes of memory that the machine has left
	load      float64
}

// guest is the name under which all is counted that is not art's.
const guest = "guest"

// program is whose a process is.
func program(p processes.Process) string {
	switch p.Comm {
	case "art", "art-fuse", "art-replicate", "art-net", "bwrap":
		return p.Comm
	}
	return guest
}

// watch takes samples until ended is closed.
func (l *load) watch(ended <-chan struct{}) {
	for tick := time.NewTicker(l.sample); ; {
		select {
		case <-ended:
			tick.Stop()
			return
		case <-tick.C:
			if s := l.look(); s.sessions > 0 {
				l.samples = append(l.samples, s)
			}
		}
	}
}

func (l *load) look() sample {
	l.mu.Lock()
	var pids []int
	for s := range l.running {
		pids = append(pids, s.pid)
	}
	l.mu.Unlock()
	s := sample{programs: map[string]*used{}, spaces: map[string]int{}}
	spaces := map[string]bool{}
	for _, pid := range pids {
		tree := processes.Tree(pid)
		if len(tree) < 4 { // it begins, or has ended
			continue
		}
		s.sessions++
		for _, p := range tree {
			u, resident := usedBy(p.PID)
			s.resident = s.resident || resident
			name := program(p)
			if s.programs[name] == nil {
				s.programs[name] = &used{}
			}
			s.programs[name].add(u)
			for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
				is, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p.PID, kind))
				if ours, _ := os.Readlink("/proc/self/ns/" + kind); err == nil && is != ours && !spaces[is] {
					spaces[is] = true
					s.spaces[kind]++
				}
			}
		}
	}
	for _, u := range s.programs {
		u.divide(float64(s.sessions))
	}
	s.available = field("/proc/meminfo", "MemAvailable:") << 10
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &s.load)
	return s
}

// usedBy is what a process uses. What has ended meanwhile uses nothing.
func usedBy(pid int) (u used, resident bool) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	u.threads = float64(field(proc+"status", "Threads:"))
	if u.threads == 0 {
		return u, false
	}
	u.processes = 1
	u.memory = float64(field(proc+"smaps_rollup", "Pss:") << 10)
	if u.memory == 0 && os.Getuid() == 0 { // it ends
		return used{}, false
	}
	if u.memory == 0 {
		resident, u.memory = true, float64(field(proc+"status", "VmRSS:")<<10)
	}
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		u.hidden = 1
	}
	u.descriptors = float64(len(fds))
	for _, fd := range fds {
		if to, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name())); to == "anon_inode:inotify" {
			u.inotify++
		}
	}
	return u, resident
}

// field is the number behind a name in a file of proc; 0: there is none.
func field(path, name string) int64 {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				n, _ := strconv.ParseInt(fields[0], 10, 64)
				return n
			}
		}
	}
	return 0
}
