package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/terminal"
)

const (
	// lookEvery is how often the list is asked for, and sureAfter how long a key does nothing after the mark has moved by itself: it was
	// meant for another line.
	lookEvery = 250 * time.Millisecond
	sureAfter = 500 * time.Millisecond
)

// watcher shows what waits and what was denied, and answers by keys.
type watcher struct {
	id     string
	lines  []grantLine
	marked string    // the rule of the line that is
	moved  time.Time // by itself
	said   string    // what became of the last answer
}

// watchGrants shows what waits to be granted in a session until that ends, or the user does.
func watchGrants(id string) error {
	t := terminal.New(os.Stdin)
	if t == nil || !isTerminal(os.Stdout) {
		return errors.New("watch the grants: standard input and output are not a terminal")
	}
	defer t.Close()
	if err := t.AwaitForeground(); err != nil {
		return err
	}
	w := &watcher{id: id}
	if err := w.look(); err != nil {
		return err
	}
	if err := t.Raw(); err != nil {
		return err
	}
	defer t.Restore()
	fmt.Print("\x1b[?1049h\x1b[?25l")
	defer fmt.Print("\x1b[?25h\x1b[?1049l")
	for {
		fmt.Print("\x1b[H" + strings.ReplaceAll(w.screen(), "\n", "\x1b[K\r\n") + "\x1b[J")
		keys := []unix.PollFd{{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(keys, int(lookEvery.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("poll", err)
		}
		if n > 0 {
			typed := make([]byte, 64)
			n, err := os.Stdin.Read(typed)
			if errors.Is(err, io.EOF) || w.typed(string(typed[:n])) {
				return nil
			}
		}
		if w.look() != nil {
			return nil // the session has ended
		}
	}
}

// look asks for the list. The mark stays on its line as long as there is one.
func (w *watcher) look() error {
	told, err := askGrants(w.id)
	if err != nil {
		return err
	}
	w.show(told, time.Now())
	return nil
}

func (w *watcher) show(told *control.GrantsTold, now time.Time) {
	w.lines = grantLines(told)
	if w.at() < 0 {
		w.marked, w.moved = "", now
		if n := len(told.Waiting) + len(told.Denied); n > 0 {
			w.marked = w.lines[0].asking.Allow
		}
	}
}

// answerable says how many lines can be answered: they come first.
func (w *watcher) answerable() (n int) {
	for n < len(w.lines) && w.lines[n].state != "granted" {
		n++
	}
	return n
}

// at is the line that is marked, or -1.
func (w *watcher) at() int {
	for i := range w.lines[:w.answerable()] {
		if w.lines[i].asking.Allow == w.marked {
			return i
		}
	}
	return -1
}

func (w *watcher) screen() string {
	var out strings.Builder
	out.WriteString("o once  s for the session  a always  d deny   ↑ ↓ another   q quit\n\n")
	if w.answerable() == 0 {
		out.WriteString("  nothing waits, and nothing was denied that could be granted\n")
	}
	for i, l := range w.lines {
		mark := "  "
		if i == w.at() {
			mark = "> "
		}
		out.WriteString(mark + l.text() + "\n")
	}
	if w.said != "" {
		out.WriteString("\n" + w.said + "\n")
	}
	return out.String()
}

// typed does what was typed, and reports whether that is to end.
func (w *watcher) typed(keys string) bool {
	switch keys {
	case "q", "\x03", "\x04", "\x1b":
		return true
	case "\x1b[A", "\x1bOA", "k":
		w.move(-1)
	case "\x1b[B", "\x1bOB", "j":
		w.move(1)
	case "o":
		w.answer(control.GrantOnce, time.Now())
	case "s":
		w.answer(control.GrantSession, time.Now())
	case "a":
		w.answer(control.GrantAlways, time.Now())
	case "d":
		w.answer(control.GrantDeny, time.Now())
	}
	return false
}

func (w *watcher) move(by int) {
	if at := w.at() + by; at >= 0 && at < w.answerable() {
		w.marked = w.lines[at].asking.Allow
	}
}

func (w *watcher) answer(scope control.GrantScope, now time.Time) {
	if w.marked == "" || now.Sub(w.moved) < sureAfter {
		return
	}
	w.said = w.marked + ": " + scope.String()
	made, err := grant(w.id, &control.GrantAsk{Rules: []string{w.marked}, Scope: scope})
	switch {
	case err != nil:
		w.said = "art: " + cli.Printable(err.Error())
	case made.File != "":
		w.said += ", by " + cli.Printable(made.File)
	}
}
