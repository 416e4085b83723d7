package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// drawn are the lines that were on the terminal, one after the other.
func drawn(told string) []string { return strings.Split(told, "\r\x1b[K")[1:] }

// In a bubble of synctest, no time goes by while something is done.
func TestProgress(t *testing.T) { synctest.Test(t, progress) }

func progress(t *testing.T) {
	var told strings.Builder
	p := NewProgress(&told, "art-x")
	p.Phase("push")
	p.Add(1, 0)
	if told.Len() != 0 {
		t.Errorf("short work shows %q", told.String())
	}
	p.next = time.Now()
	p.since = time.Now().Add(-2 * time.Second)
	p.Add(3, 1<<20)
	if got := told.String(); got != "\r\x1b[Kart-x: push: 4 files, 1.0 MiB, 0.5 MiB/s" {
		t.Errorf("progress: %q", got)
	}
	p.Add(1, 0)
	p.Erase()
	p.Erase()
	if got := drawn(told.String()); len(got) != 2 || got[1] != "" {
		t.Errorf("the line stays, or was drawn too often: %q", got)
	}

	told.Reset()
	p.Phase("copy")
	time.Sleep(progressEvery)
	p.Add(0, 1<<20)
	if got := told.String(); got != "\r\x1b[Kart-x: copy: 1.0 MiB, 10.0 MiB/s" {
		t.Errorf("progress without files: %q", got)
	}

	p = NewProgress(nil, "art-x")
	p.next = time.Now()
	p.Add(1, 0)
	p.Erase()
}

// What is left is told by what was done so far, files and content.
func TestProgressOfWhatIsKnown(t *testing.T) { synctest.Test(t, progressOfWhatIsKnown) }

func progressOfWhatIsKnown(t *testing.T) {
	var told strings.Builder
	p := NewProgress(&told, "art-x")
	p.Phase("pull")
	p.Expect(40, 40<<20)
	for _, step := range []struct {
		files int
		bytes int64
		want  string
	}{
		{10, 10 << 20, "art-x: pull: 10/40 files, 10.0/40.0 MiB, 1.0 MiB/s, 30s left"},
		{10, 10 << 20, "art-x: pull: 20/40 files, 20.0/40.0 MiB, 2.0 MiB/s, 10s left"},
		{20, 20 << 20, "art-x: pull: 40/40 files, 40.0/40.0 MiB, 4.0 MiB/s"},
		{1, 1 << 20, "art-x: pull: 41/40 files, 41.0/40.0 MiB, 4.1 MiB/s"}, // it has grown
	} {
		told.Reset()
		p.next = time.Now()
		p.since = time.Now().Add(-10 * time.Second)
		p.Add(step.files, step.bytes)
		if got := drawn(told.String()); len(got) != 1 || got[0] != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}
