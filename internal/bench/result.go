package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sample is one repetition of a workload's step on a system. Times are in nanoseconds, sizes in bytes.
type sample struct {
	Workload string        `json:"workload"`
	System   string        `json:"system"`
	Wall     time.Duration `json:"wall_ns"` // taken inside, where there is an inside
	User     time.Duration `json:"user_ns"`
	Sys      time.Duration `json:"system_ns"`

	// Of a session's last step only: until the session has ended and all is on the disk.
	ToDisk time.Duration `json:"to_disk_ns,omitempty"`

	// Of the process that serves the file system; 0 without one.
	ServerCPU   time.Duration    `json:"server_cpu_ns,omitempty"`   // during the step
	ServerTotal time.Duration    `json:"server_total_ns,omitempty"` // up to the end of the session, of its last step
	ServerPeak  int64            `json:"server_peak,omitempty"`     // resident at most, during the step; of the last one up to the end
	Database    int64            `json:"database_bytes,omitempty"`  // after it
	Operations  map[string]int64 `json:"fuse_operations,omitempty"` // during the step, by kind
	Polling     time.Duration    `json:"polling_ns,omitempty"`      // same: waited awake in vain
}

// report is all that a run has found, and where.
type report struct {
	Time    time.Time `json:"time"`
	Version string    `json:"version"` // what art says
	Kernel  string    `json:"kernel"`
	CPUs    int       `json:"cpus"`
	Go      string    `json:"go"`
	Load    string    `json:"load"` // of the machine when the run began (proc_loadavg(5))
	Systems []string  `json:"systems"`
	Samples []sample  `json:"samples"`
}

func newReport(bin string, systems []*system) *report {
	r := &report{Time: time.Now(), CPUs: runtime.NumCPU(), Go: runtime.Version()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		r.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	// The tree may be measured without art too.
	if out, err := exec.Command(filepath.Join(bin, "art"), "--version").Output(); err == nil {
		r.Version = strings.TrimSpace(string(out))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		r.Load = strings.TrimSpace(string(load))
	}
	for _, s := range systems {
		r.Systems = append(r.Systems, s.name)
	}
	return r
}

// workloads are the titles, in the order of their samples.
func (r *report) workloads() []string {
	var titles []string
	for _, s := range r.Samples {
		if !slices.Contains(titles, s.Workload) {
			titles = append(titles, s.Workload)
		}
	}
	return titles
}

func (r *report) of(workload, system string) []sample {
	var found []sample
	for _, s := range r.Samples {
		if s.Workload == workload && s.System == system {
			found = append(found, s)
		}
	}
	return found
}

// ratio is how many times as long system takes as another: the ratio of the medians. ok is false
// if one of the two has not run.
func (r *report) ratio(workload, system, other string) (ratio float64, ok bool) {
	ours, theirs := median(walls(r.of(workload, system))), median(walls(r.of(workload, other)))
	if ours == 0 || theirs == 0 {
		return 0, false
	}
	return float64(ours) / float64(theirs), true
}

// meanRatio is the geometric mean of ratio over all workloads that both have run.
func (r *report) meanRatio(system, other string) (mean float64, ok bool) {
	var ratios []float64
	for _, w := range r.workloads() {
		if ratio, ok := r.ratio(w, system, other); ok {
			ratios = append(ratios, ratio)
		}
	}
	return geometricMean(ratios), len(ratios) > 0
}

func (r *report) writeJSON(name string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

func walls(samples []sample) []time.Duration {
	return each(samples, func(s sample) time.Duration { return s.Wall })
}

func each[T any](samples []sample, f func(sample) T) []T {
	var all []T
	for _, s := range samples {
		all = append(all, f(s))
	}
	return all
}
