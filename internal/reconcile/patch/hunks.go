package patch

import (
	"fmt"
	"slices"
	"strings"
)

// context is how many unchanged lines are shown around a change; changes that are nearer to each other
// than twice of that are one hunk.
const context = 3

// edit replaces lines of the old text. Lines hold their newline.
type edit struct {
	start, end int // the lines that go: old[start:end]
	add        []string
	at         int // where the added lines are in the new text
}

// Hunk is a part of a change. All hunks of a change are about the same old text, and no two of them
// touch the same lines, so any of them apply together.
type Hunk struct {
	old      []string // the whole old text
	from, to int      // what is shown of it: old[from:to]
	edits    []edit   // in order, at least one; between two of them is a line that stays
}

// Hunks takes the change of a text apart, as git-add(1) does with --patch, so that some of it can be applied and the rest
// stays. They are in order.
func Hunks(before, after string) []Hunk {
	old := lines(before)
	var list []Hunk
	for _, e := range edits(before, after) {
		if n := len(list); n > 0 {
			if h := &list[n-1]; e.start-h.last().end <= 2*context {
				h.edits = append(h.edits, e)
				h.to = min(e.end+context, len(old))
				continue
			}
		}
		list = append(list, Hunk{old: old, from: max(e.start-context, 0), to: min(e.end+context, len(old)), edits: []edit{e}})
	}
	return list
}

func (h *Hunk) last() edit { return h.edits[len(h.edits)-1] }

// edits compares two texts line by line.
func edits(before, after string) (list []edit) {
	at, line, shift := 0, 0, 0 // an offset in before, the line that begins there, and by how many lines after is ahead
	for _, d := range compared(before, after) {
		line += len(lines(before[at:d.Start]))
		e := edit{start: line, add: lines(d.New), at: line + shift}
		line += len(lines(before[d.Start:d.End]))
		at, e.end = d.End, line
		shift += len(e.add) - (e.end - e.start)
		if n := len(list); n > 0 && list[n-1].end == e.start { // nothing lies between them
			list[n-1].end, list[n-1].add = e.end, append(list[n-1].add, e.add...)
			continue
		}
		list = append(list, e)
	}
	return list
}

// Stay returns for each line of the old text the number of the line that it is in the new one, from 0, or -1 if it is not there any more.
func Stay(before, after string) []int {
	stay, line, shift := make([]int, len(lines(before))), 0, 0
	until := func(end int) {
		for ; line < end; line++ {
			stay[line] = line + shift
		}
	}
	for _, e := range edits(before, after) {
		until(e.start)
		for ; line < e.end; line++ {
			stay[line] = -1
		}
		shift = e.at + len(e.add) - e.end
	}
	until(len(stay))
	return stay
}

func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// Apply returns the old text with some of its hunks.
func Apply(before string, picked []Hunk) string {
	old := lines(before)
	var all []edit
	for _, h := range picked {
		all = append(all, h.edits...)
	}
	slices.SortStableFunc(all, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	at := 0
	for _, e := range all {
		writeLines(&b, old[at:e.start])
		writeLines(&b, e.add)
		at = e.end
	}
	writeLines(&b, old[at:])
	return b.String()
}

// writeLines appends lines. One without a newline that is not the last any more gets one: what was behind the
// end of the text is a line of its own.
func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		if s := b.String(); s != "" && s[len(s)-1] != '\n' {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
}

// Split takes a hunk apart wherever lines that stay lie between its changes. A hunk that cannot be is
// returned alone.
func (h Hunk) Split() (list []Hunk) {
	for i, e := range h.edits {
		part := Hunk{old: h.old, from: h.from, to: h.to, edits: []edit{e}}
		if i > 0 {
			part.from = h.edits[i-1].end
		}
		if i+1 < len(h.edits) {
			part.to = h.edits[i+1].start
		}
		list = append(list, part)
	}
	return list
}

// String is the hunk as a unified diff has it.
func (h Hunk) String() string {
	var body strings.Builder
	put := func(mark byte, lines []string) {
		for _, line := range lines {
			body.WriteByte(mark)
			body.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				body.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	at, added := h.from, 0
	for _, e := range h.edits {
		put(' ', h.old[at:e.start])
		put('-', h.old[e.start:e.end])
		put('+', e.add)
		at, added = e.end, added+len(e.add)-(e.end-e.start)
	}
	put(' ', h.old[at:h.to])
	first := h.edits[0]
	return fmt.Sprintf("@@ -%s +%s @@\n", span(h.from, h.to-h.from), span(first.at-(first.start-h.from), h.to-h.from+added)) + body.String()
}

// span is where lines are, counted from one; no lines are behind the one that is named.
func span(at, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", at)
	case 1:
		return fmt.Sprint(at + 1)
	}
	return fmt.Sprintf("%d,%d", at+1, n)
}

// Edit reads a hunk that the user has changed in an editor: lines may be added, and lines that go may
// stay. Comments, and the line with the numbers, say nothing. What is there of the old text must be all
// that the hunk had. A hunk without any change left is no hunk: ok is false.
func (h Hunk) Edit(text string) (edited Hunk, ok bool, err error) {
	edited = Hunk{old: h.old, from: h.from, to: h.to}
	at, shift := h.from, h.edits[0].at-h.edits[0].start
	var open *edit
	for _, line := range lines(text) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "@@") {
			continue
		}
		if strings.HasPrefix(line, "\\") { // the line before has no newline
			if open != nil && len(open.add) > 0 && at == open.end {
				last := &open.add[len(open.add)-1]
				*last = strings.TrimSuffix(*last, "\n")
			}
			continue
		}
		if line == "\n" {
			line = " \n" // an editor may have taken the space at the end of the line
		}
		if mark := line[0]; mark == ' ' || mark == '-' {
			if at >= h.to || strings.TrimSuffix(line[1:], "\n") != strings.TrimSuffix(h.old[at], "\n") {
				return h, false, fmt.Errorf("the text has no such line there: %q", strings.TrimSuffix(line[1:], "\n"))
			}
			if mark == ' ' {
				at, open = at+1, nil
				continue
			}
		} else if mark != '+' {
			return h, false, fmt.Errorf("a line begins with neither a space, +, - nor #: %q", strings.TrimSuffix(line, "\n"))
		}
		if open == nil {
			edited.edits = append(edited.edits, edit{start: at, end: at, at: at + shift})
			open = &edited.edits[len(edited.edits)-1]
		}
		if line[0] == '-' {
			at++
			open.end, shift = at, shift-1
		} else {
			open.add, shift = append(open.add, line[1:]), shift+1
		}
	}
	if at != h.to {
		return h, false, fmt.Errorf("lines of the text are missing, from %q on", strings.TrimSuffix(h.old[at], "\n"))
	}
	return edited, len(edited.edits) > 0, nil
}
