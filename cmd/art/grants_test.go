package main

import (
	"strings"
	"testing"
	"time"

	"github.com/riverlytech/art/internal/control"
)

// A key is for the line that was marked when it was pressed, or for none.
func TestWatchGrants(t *testing.T) {
	at := time.Unix(100, 0)
	list := func(rules ...string) *control.GrantsTold {
		told := &control.GrantsTold{Granted: []control.Grant{{Rule: "granted.org"}}}
		for _, rule := range rules {
			told.Waiting = append(told.Waiting, control.Asking{What: rule, Allow: rule, Since: at})
		}
		return told
	}
	w := &watcher{id: "nobody"}
	w.show(list("a.org", "b.org"), at)
	w.move(1)
	w.show(list("new.org", "a.org", "b.org"), at.Add(time.Second))
	if w.marked != "b.org" {
		t.Errorf("the mark has moved to %s", w.marked)
	}
	w.move(1) // none of what was granted
	if w.marked != "b.org" {
		t.Errorf("the mark is on %s", w.marked)
	}
	w.show(list("new.org"), at.Add(2*time.Second))
	if w.answer(control.GrantOnce, at.Add(2*time.Second+sureAfter/2)); w.said != "" {
		t.Errorf("a key for b.org has answered another: %s", w.said)
	}
	if w.answer(control.GrantOnce, at.Add(2*time.Second+sureAfter)); !strings.Contains(w.said, "session nobody") {
		t.Errorf("a key has done nothing: %q", w.said)
	}
	w.show(list(), at.Add(3*time.Second))
	if w.marked != "" || !strings.Contains(w.screen(), "nothing waits") {
		t.Errorf("%q is marked", w.marked)
	}
}

func TestGrantLine(t *testing.T) {
	for _, c := range []struct {
		asking control.Asking
		want   string
	}{
		{control.Asking{What: "xn--bcher-kva.example", Port: 443, Command: []string{"\x1b[2J", "x y"}}, `xn--bcher-kva.example:443 (bücher.example)  $'\033[2J' 'x y'  (for`},
		{control.Asking{What: "a\x1b[2Jb"}, `a\x1b[2Jb`},
		{control.Asking{What: "xn--a\x1b]0;"}, `xn--a\x1b]0;`},
		{control.Asking{What: "2001:db8::1", Port: 1}, "[2001:db8::1]:1"},
	} {
		l := grantLine{state: "waiting", asking: c.asking}
		if got := l.text(); !strings.Contains(got, c.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%q is shown as %q", c.asking.What, got)
		}
	}
}
