package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	progressAfter = time.Second            // short work shows no progress
	progressEvery = 100 * time.Millisecond // and long work not more often than this

	// perFile is how much content takes as long as all else that is done for a file, in bytes.
	perFile = 16 << 10
)

// Progress is a line on a terminal that says how far long work is. Several goroutines may use it.
type Progress struct {
	w    io.Writer
	prog string

	mu        sync.Mutex
	doing     string    // GUARDED_BY(mu)
	since     time.Time // GUARDED_BY(mu)
	done, all amount    // all is empty while it is not known. GUARDED_BY(mu)
	drawn     bool      // the line is on the terminal. GUARDED_BY(mu)
	next      time.Time // it is drawn not before then. GUARDED_BY(mu)
}

// amount is how much work there is.
type amount struct {
	files int
	bytes int64
}

func (a amount) cost() float64 { return float64(a.bytes) + perFile*float64(a.files) }

// NewProgress begins to watch work of the program prog. A nil w shows nothing.
func NewProgress(w io.Writer, prog string) *Progress {
	return &Progress{w: w, prog: prog, since: time.Now(), next: time.Now().Add(progressAfter)}
}

// Shown tells whether anyone can see it.
func (p *Progress) Shown() bool { return p.w != nil }

// Phase names the work that is done from now on, and starts counting.
func (p *Progress) Phase(doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing, p.since, p.done, p.all = doing, time.Now(), amount{}, amount{}
}

// Expect says how much there is to do in all, as far as that is known: then it is told how long it
// will take.
func (p *Progress) Expect(files int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = amount{files, bytes}
}

// Add counts finished files, and bytes that were moved.
func (p *Progress) Add(files int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.files += files
	p.done.bytes += bytes
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.drawn = now.Add(progressEvery), true
	// \r\x1b[K: back to the start of the line, and erase it.
	fmt.Fprintf(p.w, "\r\x1b[K%s: %s: %s", p.prog, p.doing, p.text(now.Sub(p.since)))
}

// text says how much was done in a time: "12/34 files, 5.6/7.8 MiB, 9.1 MiB/s, 2s left". p.mu must be
// held.
func (p *Progress) text(took time.Duration) string {
	const mib = 1 << 20
	of := func(total string) string {
		if p.all == (amount{}) {
			return ""
		}
		return "/" + total
	}
	text := ""
	if p.done.files > 0 {
		text = fmt.Sprintf("%d%s files, ", p.done.files, of(fmt.Sprint(p.all.files)))
	}
	text += fmt.Sprintf("%.1f%s MiB", float64(p.done.bytes)/mib, of(fmt.Sprintf("%.1f", float64(p.all.bytes)/mib)))
	if took > 0 {
		text += fmt.Sprintf(", %.1f MiB/s", float64(p.done.bytes)/mib/took.Seconds())
	}
	if done := p.done.cost(); done > 0 && p.all.cost() > done {
		left := time.Duration(float64(took) * (p.all.cost() - done) / done)
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}

// Erase takes the line off the terminal, so that something else can be said there.
func (p *Progress) Erase() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		p.drawn = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Waiting returns a function that says that the program prog waits for a process, which is about to
// close the database db.
func Waiting(w io.Writer, prog, db string) func(pid int) {
	return func(pid int) {
		fmt.Fprintf(w, "%s: waiting for process %d, which is about to close %s\n", prog, pid, Printable(db))
	}
}
