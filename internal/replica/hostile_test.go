package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/superfly/ltx"
	"golang.org/x/sys/unix"
)

// ltxFile is a file of Litestream's with some pages.
func ltxFile(t *testing.T, pages int) []byte {
	t.Helper()
	var b bytes.Buffer
	e, err := ltx.NewEncoder(&b)
	must(t, err)
	must(t, e.EncodeHeader(ltx.Header{Version: ltx.Version, Flags: ltx.HeaderFlagNoChecksum, PageSize: 4096, Commit: uint32(pages), MinTXID: 1, MaxTXID: 1, Timestamp: 1}))
	for n := range pages {
		page := make([]byte, 4096)
		copy(page, strings.Repeat(string(rune('a'+n)), 700*n))
		must(t, e.EncodePage(ltx.PageHeader{Pgno: uint32(n + 1)}, page))
	}
	must(t, e.Close())
	return b.Bytes()
}

// A file is read to where its form ends, whatever follows, and however it is cut into pieces.
func TestFrames(t *testing.T) {
	whole := ltxFile(t, 5)
	for _, by := range []int{1, 7, 4096, len(whole)} {
		f := frames{want: ltx.HeaderSize}
		for at := 0; at < len(whole); at += by {
			if err := f.look(whole[at:min(at+by, len(whole))]); err != nil {
				t.Fatalf("in pieces of %d bytes, at %d: %v", by, at, err)
			}
		}
		if !f.ended || f.offset != int64(len(whole)) {
			t.Errorf("it ends %v, at %d of %d", f.ended, f.offset, len(whole))
		}
		if err := f.look(make([]byte, 1<<20)); err == nil {
			t.Error("what follows is taken")
		}
	}
	large := bytes.Clone(whole)
	copy(large[ltx.HeaderSize+ltx.PageHeaderSize:], "\xff\xff\xff\xff")
	for what, data := range map[string][]byte{"nothing": make([]byte, 4096), "a page of four gigabytes": large} {
		if err := (&frames{want: ltx.HeaderSize}).look(data); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// What is at a place and no file keeps nobody waiting, nor does one without an end, and reading ends with its context.
func TestHostileDirectory(t *testing.T) {
	dir := t.TempDir()
	s, err := open(t.Context(), "file://"+dir)
	must(t, err)
	must(t, unix.Mkfifo(filepath.Join(dir, "art-1.json"), 0o600))
	var no *refused
	if _, _, err := readHead(t.Context(), s.own); !errors.As(err, &no) {
		t.Errorf("a pipe as the head: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "art-1.json")))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "art-1.json")))
	if _, _, err := readHead(t.Context(), s.own); !errors.As(err, &no) {
		t.Errorf("a link as the head: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "art-18446744073709551615.json"), []byte("{}"), 0o600))
	if _, _, err := readHead(t.Context(), s.own); !errors.As(err, &no) || !strings.Contains(no.Error(), "is damaged") {
		t.Errorf("a head after which there is none: %v", err)
	}

	c, err := s.client("g")
	must(t, err)
	level := filepath.Join(dir, "g", "ltx", "0")
	must(t, os.MkdirAll(level, 0o700))
	name := filepath.Join(level, "0000000000000001-0000000000000001.ltx")
	must(t, unix.Mkfifo(name, 0o600))
	if _, err := c.OpenLTXFile(t.Context(), 0, 1, 1, 0, 0); !errors.As(err, &no) {
		t.Errorf("a pipe: %v", err)
	}
	must(t, os.Remove(name))
	must(t, os.WriteFile(name, ltxFile(t, 3), 0o600))
	must(t, os.Truncate(name, 100<<30))
	began := time.Now()
	r, err := c.OpenLTXFile(t.Context(), 0, 1, 1, 0, 0)
	must(t, err)
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, errFrames) || n > 1<<20 || time.Since(began) > 10*time.Second {
		t.Errorf("of 100 GB %d bytes were read in %v: %v", n, time.Since(began), err)
	}
	must(t, r.Close())
	ctx, end := context.WithCancel(t.Context())
	r, err = c.OpenLTXFile(ctx, 0, 1, 1, 0, 0)
	must(t, err)
	end()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("it is read after the end: %v", err)
	}
	must(t, r.Close())
}

// What a head says is believed within bounds.
func TestHeadWithinBounds(t *testing.T) {
	for _, seconds := range []string{"9000000000000000000", "-30", "0"} {
		dir := t.TempDir()
		s, err := open(t.Context(), "file://"+dir)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "art-1.json"), []byte(`{"format": `+strconv.Itoa(headFormat)+`, "id": "a", "size": -5, "session": -1, "lease": {"seconds": `+seconds+`}}`), 0o600))
		h, _, err := readHead(t.Context(), s.own)
		must(t, err)
		if lasts := h.Lease.lasts(); lasts < time.Second || lasts > leaseMost || h.Size != 0 || h.Session != 0 {
			t.Errorf("of %s seconds the lease lasts %v; %+v", seconds, lasts, h)
		}
		if text := h.Describe(); strings.Contains(text, "0001") {
			t.Error(text)
		}
	}
}

// A session that has died is told from one that writes once its lease is over, by its own clock.
func TestStateAt(t *testing.T) {
	until := now()
	for _, c := range []struct {
		h    Head
		at   time.Time
		want string
	}{
		{Head{State: Running, Lease: &Lease{Until: until}}, until, Running},
		{Head{State: Running, Lease: &Lease{Until: until}}, until.Add(time.Minute), Interrupted},
		{Head{State: Running, Lease: &Lease{Until: until, Ended: true}}, until, Interrupted},
		{Head{State: Ended, Lease: &Lease{Until: until, Ended: true}}, until.Add(time.Hour), Ended},
		{Head{State: Running}, until, Interrupted},
	} {
		if got := c.h.StateAt(c.at); got != c.want {
			t.Errorf("%+v at %v: %s", c.h, c.at.Sub(until), got)
		}
	}
}

// Of a copy that somebody has damaged, nothing is brought back, and that is said. What a process has left that was killed goes with the next one, and what
// another one is at work on stays.
func TestRestoreOfADamagedCopy(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	s, err := open(t.Context(), "file://"+dir)
	must(t, err)
	head := Head{Format: headFormat, ID: "a", Place: "p", Generations: []Generation{{ID: "g"}}}
	_, err = s.own.swap(t.Context(), headName, head.marshal(), "")
	must(t, err)
	level := filepath.Join(dir, "generation-g", "ltx", "0")
	must(t, os.MkdirAll(level, 0o700))
	name := filepath.Join(level, "0000000000000001-0000000000000001.ltx")
	must(t, os.WriteFile(name, ltxFile(t, 3), 0o600))
	must(t, os.Truncate(name, 100<<30))
	for _, left := range []string{"x.db.lock", "x.db.tmp", "y.db.tmp"} {
		must(t, os.WriteFile(filepath.Join(work, unfinished+left), nil, 0o600))
	}
	unlock, err := lockBeside(filepath.Join(work, unfinished+"y.db"))
	must(t, err)
	defer unlock()
	c, err := Find(t.Context(), "file://"+dir)
	must(t, err)
	began := time.Now()
	if err := c.Restore(t.Context(), filepath.Join(work, "back.db"), time.Time{}); err == nil || !strings.Contains(err.Error(), "the copy is damaged") || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	entries, err := os.ReadDir(work)
	must(t, err)
	if len(entries) != 2 || entries[0].Name() != unfinished+"y.db.lock" || entries[1].Name() != unfinished+"y.db.tmp" {
		t.Errorf("there are %v", entries)
	}
}
