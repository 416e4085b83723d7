package main

import (
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClassOf(t *testing.T) {
	for request, want := range map[string]string{
		"GET /load?list-type=2&prefix=session-1": "LIST", "GET /load/session-1/art.json": "GET", "PUT /load/session-1/art.json": "PUT",
		"POST /load?delete=": "DELETE", "DELETE /load/x": "DELETE", "POST /load/x?uploads=": "POST", "HEAD /load/x": "HEAD",
	} {
		method, target, _ := strings.Cut(request, " ")
		if got := classOf(httptest.NewRequest(method, target, nil)); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
}

func TestNumberOf(t *testing.T) {
	for path, want := range map[string]int{"/load/session-12/generation-A/0000/1.ltx": 12, "/load/session-0/art.json": 0, "/load/art.json": -1, "/load/session-x/y": -1, "/": -1} {
		n, ok := numberOf(path)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", path, n, want)
		}
	}
}

// A line has arrived with the first file that was read after it was written.
func TestBehind(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1e12 + int64(ms)) }
	c := &counter{copied: map[int][]copied{7: {{at(100), at(900)}, {at(50), at(120)}, {at(10), at(60)}}}}
	got := c.behind(&session{number: 7, synced: []time.Time{at(0), at(10), at(11), at(60), at(101)}})
	want := []time.Duration{60 * time.Millisecond, 50 * time.Millisecond, 109 * time.Millisecond, 840 * time.Millisecond}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSpread(t *testing.T) {
	var all []time.Duration
	for i := range 101 {
		all = append(all, time.Duration(100-i)*time.Second)
	}
	if got := spread(all); got != "p50 50.00 s, p99 99.00 s, most 100.00 s" {
		t.Error(got)
	}
	if got := spread(nil); got != "was not seen" {
		t.Error(got)
	}
}

// What this process uses is found, and so is what there is for all.
func TestUsedBy(t *testing.T) {
	u, _ := usedBy(os.Getpid())
	if u.processes != 1 || u.threads < 1 || u.memory < 1<<20 || u.descriptors < 3 || u.hidden != 0 {
		t.Errorf("%+v", u)
	}
	if u, _ := usedBy(1 << 30); u != (used{}) {
		t.Errorf("a process that is not there uses %+v", u)
	}
	limits := limitsOf(used{threads: 10, memory: 1 << 20, descriptors: 100, inotify: 1}, map[string]float64{"user": 2})
	for _, l := range limits {
		if l.sessions() <= 1 {
			t.Errorf("%+v", l)
		}
	}
	if len(limits) < 5 {
		t.Errorf("%+v", limits)
	}
}
