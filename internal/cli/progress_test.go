package cli

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var told strings.Builder
	p := NewProgress(&told, "art-x")
	p.Phase("push")
	p.Add(1, 0)
	if told.Len() != 0 {
		t.Errorf("short work shows %q", told.String())
	}
	p.next = time.Now()
	p.Add(3, 1<<20)
	if got := told.String(); got != "\r\x1b[Kart-x: push: 4 files, 1.0 MiB" {
		t.Errorf("progress: %q", got)
	}
	p.Add(1, 0)
	p.Erase()
	p.Erase()
	if got := told.String(); strings.Count(got, "\r\x1b[K") != 2 || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line stays, or was drawn too often: %q", got)
	}

	told.Reset()
	p.Phase("copy")
	p.next = time.Now()
	p.Add(0, 1<<20)
	if got := told.String(); got != "\r\x1b[Kart-x: copy: 1.0 MiB" {
		t.Errorf("progress without files: %q", got)
	}

	p = NewProgress(nil, "art-x")
	p.next = time.Now()
	p.Add(1, 0)
	p.Erase()
}
