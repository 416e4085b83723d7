// Package notify tells the user at his desktop, or by a command of his, what becomes of a session.
//
//	notify.go   when, and how
//	output.go   what the guest's output asks for
//	desktop     the desktop's side, in art-sync: what speaks to it would make the start of art longer
package notify

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

const (
	// pause is how long there is nothing after a notification, whatever the guest does, and repeat until the same is told
	// again.
	pause, repeat = 3 * time.Second, 30 * time.Second
	// patience is how long one may take.
	patience = 2 * time.Second
	// maxText bounds a text, in characters.
	maxText = 200
)

// Notifier notifies of one session. Its methods do nothing on nil.
type Notifier struct {
	title   string
	command []string // of the user's, or nil

	mu     sync.Mutex
	next   string               // GUARDED_BY(mu); what is to be told
	told   map[string]time.Time // GUARDED_BY(mu); when a text was told last
	failed error                // GUARDED_BY(mu); why the first one was not told
	news   chan struct{}
	over   chan struct{} // closed when nothing is told in between any more
	idle   chan struct{} // closed when nothing is being told
}

// New returns what notifies of a session of that name, by the user's command, or at his desktop if that is nil.
func New(title string, command []string) *Notifier {
	n := &Notifier{
		title: Clean(title), command: command, told: map[string]time.Time{},
		news: make(chan struct{}, 1), over: make(chan struct{}), idle: make(chan struct{}),
	}
	go n.run()
	return n
}

// Tell tells something, if that was not told just before. What comes too fast is left out but for the last. It does not wait.
func (n *Notifier) Tell(text string) {
	if n == nil {
		return
	}
	text = Clean(text)
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.told[text]; ok && time.Since(at) < repeat {
		return
	}
	n.next = text
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// run tells what there is, with a pause in between.
func (n *Notifier) run() {
	defer close(n.idle)
	for {
		select {
		case <-n.over:
			return
		case <-n.news:
		}
		n.mu.Lock()
		text := n.next
		if len(n.told) >= 64 { // the guest chooses the texts
			clear(n.told)
		}
		n.told[text] = time.Now()
		n.mu.Unlock()
		n.send(text)
		select {
		case <-n.over:
			return
		case <-time.After(pause):
		}
	}
}

// End tells what is still to be told, and the last, waits until it is told, and returns why something was not.
func (n *Notifier) End(text string) error {
	if n == nil {
		return nil
	}
	close(n.over)
	<-n.idle
	select {
	case <-n.news:
		n.mu.Lock()
		before := n.next
		n.mu.Unlock()
		n.send(before)
	default:
	}
	n.send(Clean(text))
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed
}

func (n *Notifier) send(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := n.deliver(ctx, text)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed == nil {
		n.failed = err
	}
}

// deliver has another program tell a text.
func (n *Notifier) deliver(ctx context.Context, text string) error {
	if n.command == nil {
		return control.HaveSync(ctx, control.NotifyWord, &control.Notification{Title: n.title, Text: text})
	}
	cmd := exec.CommandContext(ctx, n.command[0], append(n.command[1:len(n.command):len(n.command)], n.title, text)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the keys of the terminal are not for it
	cmd.WaitDelay = time.Second                          // for what it leaves with the streams
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = errors.New("it takes too long")
	}
	return fmt.Errorf("notify by %s: %w", n.command[0], cli.Reason(err))
}

// Clean returns of a text, which may be the guest's, what can be shown anywhere: so many characters that print, in a line,
// and none that begins markup.
func Clean(text string) string {
	var b strings.Builder
	characters := 0
	for len(text) > 0 && characters < maxText {
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		switch {
		case r == '<':
			r = '‹'
		case r == '>':
			r = '›'
		case r == '&':
			r = '+'
		case r == '\n' || r == '\t':
			r = ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			continue
		}
		b.WriteRune(r)
		characters++
	}
	return strings.TrimSpace(b.String())
}
