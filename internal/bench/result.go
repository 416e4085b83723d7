package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sample is one repetition of a workload's step on a system. Sizes are in bytes.
type sample struct {
	Part             string // of the table: one with means of its own
	Workload, System string
	Wall             time.Duration // taken inside, where there is an inside
	ToDisk           time.Duration // of a session's last step only: until the session has ended and all is on the disk

	// Of the process that serves the file system, during the step; 0 without one.
	ServerCPU  time.Duration
	ServerPeak int64 // resident at most
	Requests   int64 // FUSE's

	// Of the process that copies the database, from its begin to its end; with a session's last step only.
	CopierCPU  time.Duration
	CopierPeak int64

	Database int64 // its size after the step
}

// report is all that a run has found, and where.
type report struct {
	Version string // what art says
	Systems []string
	Samples []sample
}

func newReport(bin string, systems []*system) *report {
	r := &report{}
	// The tree may be measured without art too.
	if out, err := exec.Command(filepath.Join(bin, "art"), "--version").Output(); err == nil {
		r.Version = strings.TrimSpace(string(out))
	}
	for _, s := range systems {
		r.Systems = append(r.Systems, s.name)
	}
	return r
}

// workloads are the titles of work, in the order of their samples.
func (r *report) workloads() []string {
	var titles []string
	for _, s := range r.Samples {
		if s.Part == workPart && !slices.Contains(titles, s.Workload) {
			titles = append(titles, s.Workload)
		}
	}
	return titles
}

// writeHeader writes what holds for all samples, as configuration lines of Go's benchmark format.
func (r *report) writeHeader(w io.Writer) error {
	kernel, load := "", ""
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		kernel = unix.ByteSliceToString(name.Release[:])
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.TrimSpace(string(text)) // when the run began (proc_loadavg(5))
	}
	_, err := fmt.Fprintf(w, "goos: linux\ngoarch: %s\nversion: %s\nkernel: %s\ncpus: %d\ngo: %s\nload: %s\n",
		runtime.GOARCH, r.Version, kernel, runtime.NumCPU(), runtime.Version(), load)
	return err
}

// write writes a sample as a line of Go's benchmark format (https://go.dev/design/14313-benchmark-format), which benchstat reads.
func (s sample) write(w io.Writer) error {
	title := strings.ReplaceAll(s.Workload, " ", "_")
	line := fmt.Sprintf("Benchmark%s%s/system=%s 1", strings.ToUpper(title[:1]), title[1:], s.System)
	for _, m := range []struct {
		value int64
		unit  string
	}{
		{int64(s.Wall), "ns/op"}, {int64(s.ToDisk), "to-disk-ns/op"}, {int64(s.ServerCPU), "server-ns/op"},
		{s.ServerPeak, "peak-B/op"}, {s.Database, "database-B/op"}, {s.Requests, "requests/op"},
		{int64(s.CopierCPU), "copier-ns/op"}, {s.CopierPeak, "copier-peak-B/op"},
	} {
		if m.value != 0 {
			line += fmt.Sprintf(" %d %s", m.value, m.unit)
		}
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// write writes all samples, those of a part behind a line that configures benchstat to make a table of them.
func (r *report) write(w io.Writer) error {
	for _, part := range []string{workPart, operationPart, startPart} {
		if _, err := fmt.Fprintf(w, "part: %s\n", part); err != nil {
			return err
		}
		for _, s := range r.Samples {
			if s.Part != part {
				continue
			}
			if err := s.write(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// The parts of a report.
const (
	workPart      = "work"
	operationPart = "operations"
	startPart     = "start"
)

// median of times; 0 without any.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return (times[(len(times)-1)/2] + times[len(times)/2]) / 2
}

func (r *report) of(workload, system string) (found []sample) {
	for _, s := range r.Samples {
		if s.Workload == workload && s.System == system {
			found = append(found, s)
		}
	}
	return found
}

func (r *report) median(workload, system string) time.Duration {
	var walls []time.Duration
	for _, s := range r.of(workload, system) {
		walls = append(walls, s.Wall)
	}
	return median(walls)
}

// ratio is how many times as long system takes as another: the ratio of the medians. ok is false
// if one of the two has not run.
func (r *report) ratio(workload, system, other string) (ratio float64, ok bool) {
	ours, theirs := r.median(workload, system), r.median(workload, other)
	if ours == 0 || theirs == 0 {
		return 0, false
	}
	return float64(ours) / float64(theirs), true
}

// mean is the geometric mean of a system's ratios to another; 0 without any.
func (r *report) mean(system, other string) float64 {
	sum, n := 0.0, 0
	for _, title := range r.workloads() {
		if ratio, ok := r.ratio(title, system, other); ok {
			sum, n = sum+math.Log(ratio), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / float64(n))
}

// means says how long each system takes on the whole.
func (r *report) means(reference string) string {
	var b strings.Builder
	for _, s := range r.Systems {
		if m := r.mean(s, reference); m != 0 && s != reference {
			fmt.Fprintf(&b, "bench: %s: %.2f of %s\n", s, m, reference)
		}
	}
	return b.String()
}
