package git

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

const (
	maxLog  = 32 << 20  // bytes of a reflog
	maxLogs = 128 << 20 // of all that the guest has
)

// logLine is a line of a reflog: a reference went from one object to another.
type logLine struct {
	from, to ID
	rest     string // who, when, and why
}

func (l logLine) String() string { return l.from.String() + " " + l.to.String() + " " + l.rest + "\n" }

// when returns the line's time, in seconds since 1970.
func (l logLine) when() int64 {
	who, _, _ := strings.Cut(l.rest, "\t")
	fields := strings.Fields(who)
	n, _ := strconv.ParseInt(fields[max(len(fields)-2, 0)], 10, 64)
	return n
}

// parseLog reads a reflog. Lines that git would not have written are left out.
func parseLog(data []byte) (lines []logLine) {
	for line := range bytes.Lines(data) {
		text, ended := strings.CutSuffix(string(line), "\n")
		if !ended || len(text) < 83 || len(text) > 64<<10 || text[40] != ' ' || text[81] != ' ' {
			continue
		}
		from, ok1 := parseID(text[:40])
		to, ok2 := parseID(text[41:81])
		rest := text[82:]
		who, _, _ := strings.Cut(rest, "\t")
		if !ok1 || !ok2 || !strings.Contains(who, "> ") || strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' && r != '\t' || r == 127 }) {
			continue
		}
		lines = append(lines, logLine{from, to, rest})
	}
	return lines
}

func formatLog(lines []logLine) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l.String())
	}
	return b.Bytes()
}

// lacks returns the lines of more that list does not have.
func lacks(list, more []logLine) (lines []logLine) {
	have := make(map[logLine]bool, len(list))
	for _, l := range list {
		have[l] = true
	}
	for _, l := range more {
		if !have[l] {
			lines = append(lines, l)
		}
	}
	return lines
}

// joinLogs adds the guest's lines to the host's: at the end, or where the host's value stays, before the
// line that made it.
func joinLogs(host, guest []logLine, hostLast bool) []logLine {
	at := len(host)
	if hostLast && at > 0 {
		at--
	}
	return slices.Insert(slices.Clone(host), at, guest...)
}

// seenLast reports whether a list ends in a line that the other has too, with the value that the
// reference has: then the other side knows of all that happened to it. known reports whether the lists can
// tell.
func seenLast(list, other []logLine, is ID) (seen, known bool) {
	if len(list) == 0 || list[len(list)-1].to != is || len(other) == 0 {
		return false, false
	}
	return slices.Contains(other, list[len(list)-1]), true
}

// cameFrom reports whether a list tells that what the reference is now was put in the place of an object: each line goes on from the one
// before, back to that. Where one does not, who wrote it saw something else there, as the guest does whose own packed-refs lacks what the
// host packs.
func cameFrom(list []logLine, id ID) bool {
	for i, l := range slices.Backward(list) {
		if i+1 < len(list) && list[i+1].from != l.to {
			return false
		}
		if l.from == id || l.to == id {
			return true
		}
	}
	return false
}

// logs of both sides, read once.
type logs struct {
	host  *hostDir
	guest Guest
	h, g  map[string][]logLine
	left  int64 // bytes that may still be read of the guest's
	cut   bool  // some of them were not read
}

func newLogs(h *hostDir, g Guest) *logs {
	return &logs{host: h, guest: g, h: map[string][]logLine{}, g: map[string][]logLine{}, left: maxLogs}
}

// of returns a reference's lines on each side. Where the guest has none of its own, they are the host's.
func (l *logs) of(name string) (host, guest []logLine, own bool) {
	if _, ok := l.h[name]; !ok {
		data, _ := l.host.read("logs/"+name, maxLog)
		l.h[name] = parseLog(data)
		data, err := readGuest(l.guest, "logs/"+name, min(maxLog, l.left))
		if err == nil {
			l.g[name] = parseLog(data)
			l.left -= int64(len(data))
		} else if !errors.Is(err, fs.ErrNotExist) {
			l.g[name], l.cut = []logLine{}, true
		}
	}
	guest, own = l.g[name]
	if !own {
		guest = l.h[name]
	}
	return l.h[name], guest, own
}
