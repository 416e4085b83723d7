package cli

import (
	"fmt"
	"io"
	"time"
)

const (
	progressAfter = time.Second            // short work shows no progress
	progressEvery = 100 * time.Millisecond // and long work not more often than this
)

// Progress is a line on a terminal that says how far long work is.
type Progress struct {
	w     io.Writer
	prog  string
	doing string
	files int
	bytes int64

	drawn bool      // the line is on the terminal
	next  time.Time // it is drawn not before then
}

// NewProgress begins to watch work of the program prog. A nil w shows nothing.
func NewProgress(w io.Writer, prog string) *Progress {
	return &Progress{w: w, prog: prog, next: time.Now().Add(progressAfter)}
}

// Phase names the work that is done from now on, and starts counting.
func (p *Progress) Phase(doing string) { p.doing, p.files, p.bytes = doing, 0, 0 }

// Add counts finished files, and bytes that were moved.
func (p *Progress) Add(files int, bytes int64) {
	p.files += files
	p.bytes += bytes
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.drawn = now.Add(progressEvery), true
	count := ""
	if p.files > 0 {
		count = fmt.Sprintf("%d files, ", p.files)
	}
	// \r\x1b[K: back to the start of the line, and erase it.
	fmt.Fprintf(p.w, "\r\x1b[K%s: %s: %s%.1f MiB", p.prog, p.doing, count, float64(p.bytes)/(1<<20))
}

// Erase takes the line off the terminal, so that something else can be said there.
func (p *Progress) Erase() {
	if p.drawn {
		p.drawn = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Waiting returns a function that says that the program prog waits for a process, which is about to
// close the database db.
func Waiting(w io.Writer, prog, db string) func(pid int) {
	return func(pid int) {
		fmt.Fprintf(w, "%s: waiting for process %d, which is about to close %s\n", prog, pid, printable(db))
	}
}
