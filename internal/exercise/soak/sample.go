package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What is measured.
const (
	memory      = iota // resident, of art-fuse, in bytes
	descriptors        // open in art-fuse
	log                // size of the write-ahead log, in bytes
	database           // size of the database, in bytes
	kinds
)

type sample [kinds]int64

var names = [kinds]string{"memory", "descriptors", "log", "database"}

// slack is how much more there may be in the end than in the middle: what one round of work needs
// more than another, and, of the log, all that it may take before it is copied back.
var slack = sample{32 << 20, 16, 160 << 20, 64 << 20}

// part is the median of each kind in the n-th third of the samples.
func part(list []sample, n int) (m sample) {
	third := list[n*len(list)/3 : (n+1)*len(list)/3]
	for kind := range m {
		values := make([]int64, len(third))
		for i, s := range third {
			values[i] = s[kind]
		}
		slices.Sort(values)
		m[kind] = values[len(values)/2]
	}
	return m
}

// growth fails when there is more of something in the end than in the middle. What the beginning
// fills, such as caches, is no growth.
func growth(list []sample) (err error) {
	if len(list) < 3 {
		return fmt.Errorf("%d samples tell nothing", len(list))
	}
	middle, end := part(list, 1), part(list, 2)
	for kind, name := range names {
		if end[kind] > middle[kind]+middle[kind]/4+slack[kind] {
			err = errors.Join(err, fmt.Errorf("%s grows: %d in the middle, %d in the end", name, middle[kind], end[kind]))
		}
	}
	return err
}

// summary is a line for people.
func summary(list []sample) string {
	if len(list) < 3 {
		return "too short to tell"
	}
	var s strings.Builder
	for kind, name := range names {
		unit, format := int64(1<<20), "%s %d/%d/%d MiB (at most %d), "
		if kind == descriptors {
			unit, format = 1, "%s %d/%d/%d (at most %d), "
		}
		most := slices.MaxFunc(list, func(a, b sample) int { return int(a[kind] - b[kind]) })
		fmt.Fprintf(&s, format, name, part(list, 0)[kind]/unit, part(list, 1)[kind]/unit, part(list, 2)[kind]/unit, most[kind]/unit)
	}
	return strings.TrimSuffix(s.String(), ", ") + "; in the beginning, middle and end"
}
