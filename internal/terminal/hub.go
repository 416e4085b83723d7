package terminal

import (
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/terminal/screen"
)

const (
	// maxBehind bounds what a viewer may be behind, in bytes. One that stays behind is shown the screen anew.
	maxBehind = 1 << 20
	// viewerPatience is how long the guest's output waits for a viewer that reads nothing, once.
	viewerPatience = 100 * time.Millisecond
	// maxPiece is how much a viewer is given at a time.
	maxPiece = 32 << 10
	// typePatience is how long what is typed waits for a guest that does not read it.
	typePatience = time.Second
)

// Size is that of a terminal.
type Size struct{ Cols, Rows int }

// bounded returns the size as a terminal can have it (struct winsize in ioctl_tty(2)), whatever somebody says of it.
func (s Size) bounded() Size { return Size{min(s.Cols, math.MaxUint16), min(s.Rows, math.MaxUint16)} }

// usual is the size of a terminal that nobody looks at.
var usual = Size{80, 24}

// Hub is the guest's terminal, which any number of viewers look at. The caller's own terminal may be one of them (Streams.Attend).
type Hub struct {
	typing  sync.Mutex // one viewer after the other
	mu      sync.Mutex
	log     io.Writer        // GUARDED_BY(mu); what the guest writes, too; nil if nobody wants it
	master  *os.File         // GUARDED_BY(mu)
	picture *screen.Screen   // GUARDED_BY(mu)
	front   *unix.Winsize    // GUARDED_BY(mu); the size of the caller's terminal, as long as that is there
	viewers map[*Viewer]bool // GUARDED_BY(mu)
	ended   bool             // GUARDED_BY(mu)
}

// NewHub returns the hub of a terminal that has a size at first.
func NewHub(size Size, log io.Writer) *Hub {
	if size.Cols <= 0 || size.Rows <= 0 {
		size = usual
	}
	return &Hub{log: log, picture: screen.New(size.Cols, size.Rows), viewers: map[*Viewer]bool{}}
}

// start gives the hub the guest's terminal.
func (h *Hub) start(master *os.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.master = master
	h.resize()
}

// setFront says how large the caller's terminal is, or with nil that it is there no more.
func (h *Hub) setFront(size *unix.Winsize) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.front = size
	h.resize()
}

// setLog has the log get what the guest writes from now on.
func (h *Hub) setLog(log io.Writer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = log
}

// Write has all viewers see what the guest has written. It never fails.
func (h *Hub) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.picture.Write(p) // never fails
	if h.log != nil {
		_, _ = h.log.Write(p) // a log that cannot be written is no reason to end the guest
	}
	if answers := h.picture.Answers(); h.watched() == 0 && len(answers) > 0 && h.master != nil {
		// What does not fit is lost: a guest that asks and does not read must not hold up its own output.
		_ = control(h.master, func(fd int) error {
			_, err := unix.Write(fd, answers) // fails with EAGAIN
			return err
		})
	}
	// The mutex is let go while a viewer is waited for. Another one may be shown the screen then, which has p already: so all others
	// are given p before.
	var full []*Viewer
	for v := range h.viewers {
		if v.full(p) && !v.stale && !v.slow {
			full = append(full, v)
		} else {
			v.give(p)
		}
	}
	for _, v := range full {
		h.await(v, p)
		v.give(p)
	}
	return len(p), nil
}

// await waits for a viewer to have room for p. LOCKS_REQUIRED(h.mu), which it lets go meanwhile.
func (h *Hub) await(v *Viewer, p []byte) {
	v.slow = true // until it has caught up
	wait := time.NewTimer(viewerPatience)
	for !v.gone && v.full(p) {
		h.mu.Unlock()
		timeUp := false
		select {
		case <-v.room:
		case <-wait.C:
			timeUp = true
		}
		h.mu.Lock()
		if timeUp {
			break
		}
	}
	if wait.Stop() {
		v.slow = false
	}
}

// full tells whether p is too much for the viewer to be behind with. LOCKS_REQUIRED(hub.mu)
func (v *Viewer) full(p []byte) bool { return len(v.behind)+len(p) > maxBehind }

// give has the viewer see p, or the screen if it is too far behind. LOCKS_REQUIRED(hub.mu)
func (v *Viewer) give(p []byte) {
	switch {
	case v.gone:
		return
	case v.full(p):
		v.behind, v.stale = nil, true
	case !v.stale:
		v.behind = append(v.behind, p...)
	}
	v.wake()
}

// Type has the guest read p as typed, and tells whether it has taken that in time; otherwise the rest is lost.
func (h *Hub) Type(p []byte) bool {
	h.typing.Lock()
	defer h.typing.Unlock()
	h.mu.Lock()
	master := h.master
	h.mu.Unlock()
	if master == nil {
		return true
	}
	_ = master.SetWriteDeadline(time.Now().Add(typePatience)) // fails if it is closed, as Write does
	_, err := master.Write(p)                                 // fails while nobody in the guest has it open
	_ = master.SetWriteDeadline(time.Time{})                  // the caller's own terminal has none
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// resize gives the terminal the smallest size that somebody has who looks at it, or leaves it. Where that is the caller's
// terminal, it is exactly that. LOCKS_REQUIRED(h.mu)
func (h *Hub) resize() {
	var least Size
	add := func(size Size) {
		if size.Cols > 0 && size.Rows > 0 {
			if least == (Size{}) {
				least = size
			}
			least = Size{min(least.Cols, size.Cols), min(least.Rows, size.Rows)}
		}
	}
	for v := range h.viewers {
		add(v.size)
	}
	if h.front != nil {
		add(Size{int(h.front.Col), int(h.front.Row)})
	}
	cols, rows := h.picture.Size()
	if least != (Size{}) {
		if fit, high := screen.Fit(least.Cols, least.Rows); fit != cols || high != rows {
			cols, rows = fit, high
			h.picture.Resize(cols, rows)
		}
	}
	if h.master == nil {
		return
	}
	// Fails if the terminal is gone; then its size matters no more.
	_ = control(h.master, func(fd int) error {
		size := &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}
		if h.front != nil && (least == Size{int(h.front.Col), int(h.front.Row)} || least == Size{}) {
			size = h.front
		} else if now, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err == nil && now.Row == size.Row && now.Col == size.Col {
			return nil // it may have a size in pixels, too, and another one would be news to the guest
		}
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size)
	})
}

// setModes gives the guest's terminal the modes that a new one has, and that of UTF-8.
func setModes(master *os.File) error {
	return control(master, func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			modes.Iflag |= unix.IUTF8
			err = unix.IoctlSetTermios(fd, unix.TCSETS, modes)
		}
		return err
	})
}

// end is called when the guest has written all that it will.
func (h *Hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.master = nil
	for v := range h.viewers {
		v.wake()
	}
}

// Watched tells how many look at the terminal.
func (h *Hub) Watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watched()
}

// watched is Watched. LOCKS_REQUIRED(h.mu)
func (h *Hub) watched() int {
	n := len(h.viewers)
	if h.front != nil {
		n++
	}
	return n
}

// Viewer is somebody who looks at the terminal.
type Viewer struct {
	hub  *Hub
	news chan struct{} // there is something to see
	room chan struct{} // some of it was taken

	size   Size   // GUARDED_BY(hub.mu)
	shown  bool   // GUARDED_BY(hub.mu); it has seen the screen
	stale  bool   // GUARDED_BY(hub.mu); it is to be shown the screen, and not what came before
	slow   bool   // GUARDED_BY(hub.mu); nobody waits for it any more
	behind []byte // GUARDED_BY(hub.mu); what it has not seen
	gone   bool   // GUARDED_BY(hub.mu)
}

// View adds a viewer, who is shown the screen first.
func (h *Hub) View(size Size) *Viewer {
	v := &Viewer{hub: h, news: make(chan struct{}, 1), room: make(chan struct{}, 1), size: size.bounded(), stale: true}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers[v] = true
	h.resize()
	v.wake()
	return v
}

func (v *Viewer) wake() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// Resize says how large the viewer's terminal is now.
func (v *Viewer) Resize(size Size) {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	v.size = size.bounded()
	v.hub.resize()
}

// Leave ends the viewing.
func (v *Viewer) Leave() {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	delete(v.hub.viewers, v)
	v.gone, v.behind = true, nil
	v.hub.resize()
	v.wake()
	select {
	case v.room <- struct{}{}:
	default:
	}
}

// Next waits for something to see, and returns it; nil when there is no more.
func (v *Viewer) Next() []byte {
	for {
		if piece, over := v.take(); piece != nil || over {
			return piece
		}
		<-v.news
	}
}

// Left tells whether the viewer has left.
func (v *Viewer) Left() bool {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	return v.gone
}

func (v *Viewer) take() (piece []byte, over bool) {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.gone {
		return nil, true
	}
	if v.stale {
		cols, rows := v.size.Cols, v.size.Rows
		if cols <= 0 || rows <= 0 { // it does not know
			cols, rows = h.picture.Size()
		}
		draw := h.picture.Redraw
		if v.shown {
			draw = h.picture.Repaint
		}
		v.behind, v.stale, v.shown = draw(cols, rows), false, true
	}
	if len(v.behind) == 0 {
		v.behind, v.slow = nil, false
		return nil, h.ended
	}
	n := min(len(v.behind), maxPiece)
	piece, v.behind = v.behind[:n:n], v.behind[n:]
	select {
	case v.room <- struct{}{}:
	default:
	}
	return piece, false
}
