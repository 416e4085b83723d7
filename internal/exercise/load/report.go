package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// report tells what was found.
func (l *load) report(out io.Writer) {
	var starts, ends, lags []time.Duration
	var lived, cpu time.Duration
	checked := 0
	for _, s := range l.all {
		lived, cpu = lived+s.lived, cpu+s.cpu
		if s.err == nil {
			starts, ends = append(starts, s.start), append(ends, s.end)
			lags = append(lags, l.counted.behind(s)...)
		}
		if s.checked {
			checked++
		}
	}
	failed := l.failures()
	fmt.Fprintf(out, "sessions: %d, %d at once, in %.0f s; %d failed; copies brought back, with all that was written: %d of %d\n", l.sessions, l.atOnce, l.took.Seconds(), len(failed), checked, l.sessions)
	first := l.all[:min(l.atOnce, len(l.all))]
	until := slices.MaxFunc(first, func(a, b *session) int { return cmp.Compare(a.start, b.start) }).start
	fmt.Fprintf(out, "starts: the first %d within %.2f s, %.1f a second; until the guest runs %s\n", len(first), until.Seconds(), float64(len(first))/until.Seconds(), spread(starts))
	fmt.Fprintf(out, "ends: from the last word of the guest until all is copied %s\n", spread(ends))
	fmt.Fprintf(out, "behind: from an fsync until the store has it %s, of %d lines\n", spread(lags), len(lags))
	fmt.Fprintf(out, "processor: %.2f s for each session, which lived for %.1f s\n", cpu.Seconds()/float64(l.sessions), lived.Seconds()/float64(l.sessions))
	l.reportStore(out, lived)
	l.reportPrograms(out)
	for i, s := range failed {
		if i == 5 {
			fmt.Fprintf(out, "... and %d more\n", len(failed)-i)
			break
		}
		fmt.Fprintf(out, "session %d failed: %v\n", s.number, s.err)
	}
}

// spread is the median of times, the 99th part of a hundred, and the most.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "was not seen"
	}
	slices.Sort(all)
	at := func(percent int) float64 { return all[(len(all)-1)*percent/100].Seconds() }
	return fmt.Sprintf("p50 %.2f s, p99 %.2f s, most %.2f s", at(50), at(99), at(100))
}

func (l *load) reportStore(out io.Writer, lived time.Duration) {
	c := l.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	n, seconds := float64(l.sessions), lived.Seconds()
	fmt.Fprintln(w, "asked of the store\trequests\ta session\ta session and second\tKiB sent a session\tKiB received\t")
	var sum class
	line := func(name string, is *class) {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.3f\t%.1f\t%.1f\t\n", name, is.requests, float64(is.requests)/n, float64(is.requests)/seconds, float64(is.sent)/n/1024, float64(is.received)/n/1024)
	}
	for _, name := range slices.Sorted(maps.Keys(c.classes)) {
		is := c.classes[name]
		sum.requests, sum.sent, sum.received = sum.requests+is.requests, sum.sent+is.sent, sum.received+is.received
		line(name, is)
	}
	line("all", &sum)
	w.Flush()
	for _, what := range slices.Sorted(maps.Keys(c.refused)) {
		fmt.Fprintf(out, "  of these %s: %d\n", what, c.refused[what])
	}
}

func (l *load) reportPrograms(out io.Writer) {
	if len(l.samples) == 0 {
		return
	}
	most := slices.MaxFunc(l.samples, func(a, b sample) int { return cmp.Compare(a.sessions, b.sessions) })
	many := max(1, most.sessions*9/10)
	busiest := slices.DeleteFunc(slices.Clone(l.samples), func(s sample) bool { return s.sessions < many })
	all := map[string]*used{}
	var spaces = map[string]float64{}
	least, high, sessions := most.available, 0.0, 0.0
	for _, s := range busiest {
		for name, u := range s.programs {
			if all[name] == nil {
				all[name] = &used{}
			}
			all[name].add(*u)
		}
		for kind, count := range s.spaces {
			spaces[kind] += float64(count)
		}
		least, high, sessions = min(least, s.available), max(high, s.load), sessions+float64(s.sessions)
	}
	memory := "PSS"
	if most.resident {
		memory = "RSS in part"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "of one session\tprocesses\tthreads\tdescriptors\tMiB (%s)\t\n", memory)
	var sum used
	line := func(name string, u used) {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t\n", name, u.processes, u.threads, u.descriptors, u.memory/(1<<20))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		all[name].divide(float64(len(busiest)))
		sum.add(*all[name])
		line(name, *all[name])
	}
	line("all", sum)
	w.Flush()
	fmt.Fprintf(out, "means of %d looks at %d sessions or more; memory available at least %d MiB; load %.1f at most\n", len(busiest), many, least>>20, high)
	if sum.hidden > 0 {
		fmt.Fprintf(out, "left out: the descriptors of %.1f processes of each session, which root can see\n", sum.hidden)
	}
	for kind := range spaces {
		spaces[kind] /= sessions
	}
	limits := limitsOf(sum, spaces)
	slices.SortFunc(limits, func(a, b limit) int { return cmp.Compare(a.sessions(), b.sessions()) })
	fmt.Fprintln(out, "what is met first, by what one session has of it:")
	for _, m := range limits {
		fmt.Fprintf(out, "  %7.0f sessions: %s, %.0f, of which one has %.1f\n", m.sessions(), m.name, m.is, m.each)
	}
}

// limit is one of this machine, or of this user on it.
type limit struct {
	name     string
	is, each float64
}

func (m limit) sessions() float64 { return m.is / m.each }

// limitsOf are those that sessions share.
func limitsOf(one used, spaces map[string]float64) (all []limit) {
	add := func(name string, is int64, each float64) {
		if is > 0 && each > 0 {
			all = append(all, limit{name, float64(is), each})
		}
	}
	add("MiB of memory (MemTotal)", field("/proc/meminfo", "MemTotal:")>>10, one.memory/(1<<20))
	add("threads (kernel.pid_max)", number("/proc/sys/kernel/pid_max"), one.threads)
	add("threads (kernel.threads-max)", number("/proc/sys/kernel/threads-max"), one.threads)
	var r unix.Rlimit
	if os.Getuid() != 0 && unix.Getrlimit(unix.RLIMIT_NPROC, &r) == nil && r.Cur < 1<<40 { // it is not root's
		add("threads of the user (RLIMIT_NPROC)", int64(r.Cur), one.threads)
	}
	add("files (fs.file-max)", number("/proc/sys/fs/file-max"), one.descriptors)
	add("inotify instances of the user (fs.inotify.max_user_instances)", number("/proc/sys/fs/inotify/max_user_instances"), one.inotify)
	for kind, each := range spaces {
		add("namespaces of the user (user.max_"+kind+"_namespaces)", number("/proc/sys/user/max_"+kind+"_namespaces"), each)
	}
	return all
}

// number is what a file of proc has; 0: there is none.
func number(path string) int64 {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
