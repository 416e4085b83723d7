package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A guest that wants attention all the time gets it now and then; the end is told, whatever it does.
func TestNotifierIsBounded(t *testing.T) {
	dir := t.TempDir()
	script, out := filepath.Join(dir, "tell"), filepath.Join(dir, "told")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s|' \"$@\" >>"+out+"\necho >>"+out+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	n := New("ws: <sh>", []string{script, "first", "$HOME"})
	begin := time.Now()
	for time.Since(begin) < time.Second {
		n.Tell("it \x1b[2Jwaits; $(touch " + dir + "/executed)")
		n.Tell("something else")
		time.Sleep(10 * time.Millisecond)
	}
	if err := n.End("ended"); err != nil {
		t.Error(err)
	}
	told, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(told)), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "first|$HOME|ws: ‹sh›|") || lines[2] != "first|$HOME|ws: ‹sh›|ended|" {
		t.Errorf("it was told\n%s", told)
	}
	if _, err := os.Stat(dir + "/executed"); err == nil {
		t.Error("the guest's text was executed")
	}
	var none *Notifier
	none.Tell("x")
	if err := none.End("x"); err != nil {
		t.Error(err)
	}
}

func TestNotifierFails(t *testing.T) {
	n := New("ws", []string{"/nonexistent/tell"})
	if err := n.End("ended"); err == nil || err.Error() != "notify by /nonexistent/tell: no such file or directory" {
		t.Errorf("%v", err)
	}
}
