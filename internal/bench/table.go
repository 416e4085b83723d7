package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// writeTable shows for each workload the median on every system with its spread, and how many times
// as long art takes as each of the others; then what art-fuse has used.
func (r *report) writeTable(w io.Writer) error {
	others := slices.DeleteFunc(slices.Clone(r.Systems), func(s string) bool { return s == artName })
	if !slices.Contains(r.Systems, artName) {
		others = nil
	}
	rows := [][]string{{"seconds (spread)"}}
	rows[0] = append(rows[0], r.Systems...)
	for _, o := range others {
		rows[0] = append(rows[0], "art/"+o)
	}
	for _, workload := range r.workloads() {
		row := []string{workload}
		for _, s := range r.Systems {
			row = append(row, timeCell(walls(r.of(workload, s))))
		}
		for _, o := range others {
			row = append(row, ratioCell(r.ratio(workload, artName, o)))
		}
		rows = append(rows, row)
	}
	mean := make([]string, 1+len(r.Systems))
	mean[0] = "geometric mean"
	for _, o := range others {
		mean = append(mean, ratioCell(r.meanRatio(artName, o)))
	}
	if err := align(w, append(rows, mean)); err != nil || others == nil {
		return err
	}
	fmt.Fprintln(w)
	return r.writeServer(w)
}

// writeServer shows what lies behind art's times.
func (r *report) writeServer(w io.Writer) error {
	rows := [][]string{{"art", "to disk", "art-fuse CPU", "to the end", "polling", "peak MB", "database MB", "FUSE operations"}}
	for _, workload := range r.workloads() {
		samples := r.of(workload, artName)
		if len(samples) == 0 || samples[0].ServerPeak == 0 {
			continue
		}
		rows = append(rows, []string{
			workload,
			atEnd(samples, func(s sample) time.Duration { return s.ToDisk }, timeCell),
			seconds(median(each(samples, func(s sample) time.Duration { return s.ServerCPU }))),
			atEnd(samples, func(s sample) time.Duration { return s.ServerTotal }, func(d []time.Duration) string { return seconds(median(d)) }),
			seconds(median(each(samples, func(s sample) time.Duration { return s.Polling }))),
			megabytes(each(samples, func(s sample) int64 { return s.ServerPeak })),
			megabytes(each(samples, func(s sample) int64 { return s.Database })),
			operationsCell(samples[len(samples)-1].Operations),
		})
	}
	return align(w, rows)
}

func align(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

func timeCell(times []time.Duration) string {
	if len(times) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s ±%.0f%%", seconds(median(times)), spread(times)*50)
}

// atEnd shows what is only known of a session's last step.
func atEnd(samples []sample, f func(sample) time.Duration, show func([]time.Duration) string) string {
	if samples[0].ToDisk == 0 {
		return "-"
	}
	return show(each(samples, f))
}

func ratioCell(ratio float64, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}

// seconds has three digits at least.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 10:
		return fmt.Sprintf("%.1f", s)
	case s >= 1:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.3f", s)
	}
}

// megabytes is the largest of sizes in bytes.
func megabytes(sizes []int64) string {
	return fmt.Sprintf("%.1f", float64(slices.Max(sizes))/1e6)
}

// operationsCell names the total and the kinds that make up most of it.
func operationsCell(counts map[string]int64) string {
	const shown = 4
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if c := counts[b] - counts[a]; c != 0 {
			return int(c)
		}
		return strings.Compare(a, b)
	})
	cell := fmt.Sprint(total)
	for i, kind := range kinds[:min(shown, len(kinds))] {
		cell += [...]string{": ", ", "}[min(i, 1)] + fmt.Sprintf("%s %d", kind, counts[kind])
	}
	return cell
}
