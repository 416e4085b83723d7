package reconcile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs"
)

// What the guest does to a file in the moment in which the host has changed it, by a clock that stands still for milliseconds, is no
// less a change.
func TestPullOfWhatBothChangeAtOnce(t *testing.T) {
	b := newBench(t)
	const files = 20 // most of them are changed within a tick
	b.guest(func(g *guest) {
		beside := g.serves()
		g.forgets = true
		for i := range files {
			name := fmt.Sprint(i)
			b.write(name, "the host's")
			g.append(name, ", and the guest's")
			g.forget()
			if i%2 == 0 {
				b.pull(b.ws, beside)
				wantContent(t, b.path(name), "the host's, and the guest's")
			}
		}
	})
	b.pull(b.ws)
	for i := range files {
		wantContent(t, b.path(fmt.Sprint(i)), "the host's, and the guest's")
	}
	b.checkAll()
}

// A pull has what the host has added to a file after the guest had asked for its end, and before the guest added to it.
func TestPullOfWhatBothAppend(t *testing.T) {
	b := newBench(t)
	b.write("log", "begin\n")
	b.guest(func(g *guest) {
		e, err := g.find("log")
		must(t, err)
		b.write("log", "begin\nthe host's\n")
		must(t, g.overlay.Append(agent, e.Ino, []byte("the guest's\n"), e.Attr.Size))
		b.pull(b.ws, g.serves())
	})
	wantContent(t, b.path("log"), "begin\nthe host's\nthe guest's\n")
	b.checkAll()
}

// What the guest has written into a file of which the rest is the host's stays a change when the host gives the file another mode in the
// same tick of the clock.
func TestPullOfAChangeInTheHostsTick(t *testing.T) {
	b := newBench(t)
	const size = 200_000
	b.write("f", strings.Repeat("h", size))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		row := b.copyUp(s, ws, "f", "f", same)
		f, err := os.Open(b.path("f"))
		must(t, err)
		defer f.Close()
		must(t, s.WriteAt(row, []byte("the guest's"), 100_000, f, sqlvfs.Now()))
	})
	must(t, os.Chmod(b.path("f"), 0o700))
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		row := lookup(t, s, ws, "f")
		step(t, s, func(tx *sqlvfs.Tx) { row.Attr.Ctime = b.origin("f").Ctime; tx.Dirty(row) })
	})
	dry, _ := b.pull(b.ws, dryRun)
	out, _ := b.pull(b.ws)
	if dry != out {
		t.Errorf("a dry run says otherwise:\n%s%s", dry, out)
	}
	wantContent(t, b.path("f"), strings.Repeat("h", 100_000)+"the guest's"+strings.Repeat("h", size-100_000-len("the guest's")))
	if st := b.stat("f"); st.Mode&0o777 != 0o700 {
		t.Errorf("mode %o", st.Mode)
	}
	b.checkAll()
}

// A push that gives a row the host's mode moves the row's change time forward, as all that changes it does, also where that is ahead of
// the clock.
func TestPushMovesChangeTimeForward(t *testing.T) {
	b := newBench(t)
	b.write("f", "the host's")
	b.push()
	var written sqlvfs.Timespec
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		row := lookup(t, s, ws, "f")
		written = sqlvfs.Now()
		written.Sec += 3600
		step(t, s, func(tx *sqlvfs.Tx) { must(t, tx.WriteAt(row, []byte("the guest's"), 0, written)) })
	})
	must(t, os.Chmod(b.path("f"), 0o700))
	b.push()
	b.session(func(s *sqlvfs.Store, ws *sqlvfs.Inode) {
		if row := lookup(t, s, ws, "f"); row.Attr.Mode&0o777 != 0o700 || !row.Attr.Ctime.After(written) {
			t.Errorf("mode %o, changed at %v, and written at %v", row.Attr.Mode, row.Attr.Ctime, written)
		}
	})
	b.pull(b.ws)
	wantContent(t, b.path("f"), "the guest's")
}
