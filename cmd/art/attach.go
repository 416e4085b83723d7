package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/terminal"
)

// runAttach joins the terminal of a session.
func runAttach(c *flags.Command, args []string) (int, error) {
	var view bool
	keys := terminal.DefaultKeys
	line, err := c.Parse(args, map[string]any{"view": &view, "detach-keys": &keys})
	if err != nil {
		return cli.ExitArt, err
	}
	a := &attachment{view: view, terminal: terminal.New(os.Stdin), screen: terminal.Show(os.Stdout)}
	if a.keys, err = terminal.ParseKeys(keys); err != nil {
		return cli.ExitArt, err
	}
	if a.terminal == nil || !isTerminal(os.Stdout) {
		return cli.ExitArt, cli.WithHint(errors.New("attach to the session: standard input and output are not a terminal"), "art logs shows what it has written")
	}
	id, err := chosenSession(line.Words, false)
	if err != nil {
		return cli.ExitArt, err
	}
	if err := a.terminal.AwaitForeground(); err != nil {
		return cli.ExitArt, err
	}
	ask := &control.AttachAsk{View: view}
	ask.Cols, ask.Rows, _ = term.GetSize(int(os.Stdout.Fd())) // one without a size has none to say
	if a.conn, err = sessions.Dial(sessions.Directories(os.Getenv), id, control.AskAttach, ask, nil); err != nil {
		return cli.ExitArt, err
	}
	defer a.conn.Close()
	if keys != "" {
		fmt.Fprintf(os.Stderr, "art: %s leaves session %s\n", cli.Printable(strings.ReplaceAll(keys, ",", " ")), id)
		a.hold(readLine)
	}
	return a.run(id)
}

// readLine is how long it takes to read a line, before the session's screen is drawn over it.
const readLine = 700 * time.Millisecond

// attachment is a terminal that shows a session's.
type attachment struct {
	view     bool
	conn     *sessions.Conn
	terminal *terminal.Terminal
	screen   *terminal.Shown
	keys     *terminal.Keys
	draw     <-chan time.Time // when the screen may be drawn; nil: at once
	typed    chan struct{}    // closed when something was typed, for which the screen is drawn
	once     sync.Once        // closes typed
}

// hold has what is on the terminal stay there for a time, or until something is typed.
func (a *attachment) hold(d time.Duration) {
	a.draw, a.typed = time.After(d), make(chan struct{})
}

// run shows the session until one of the two is left.
func (a *attachment) run(id string) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	if err := a.terminal.Raw(); err != nil {
		return cli.ExitArt, err
	}
	defer a.terminal.Restore()
	ended, left := make(chan *control.SessionEnd, 1), make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		ended <- a.show()
	}()
	go func() {
		defer close(left)
		a.keys.Carry(a.terminal, a.send)
	}()
	var end *control.SessionEnd
	var by unix.Signal
	for going := true; going; {
		going = false
		select {
		case end = <-ended:
			a.screen.Reset()
			a.terminal.Restore()
			if end == nil {
				return cli.ExitArt, fmt.Errorf("attach to session %s: its process was killed", id)
			}
			if end.Why != "" {
				return end.Code, errors.New(end.Why)
			}
			return end.Code, nil
		case <-left:
		case received := <-signals:
			if received == unix.SIGWINCH {
				a.resize()
				going = true
			} else {
				by = received.(unix.Signal)
			}
		}
	}
	a.conn.Hangup()
	<-shown
	a.screen.Reset()
	a.terminal.Restore()
	tellLeft(id)
	if by != 0 {
		return cli.ExitSignal + int(by), nil
	}
	return cli.OK, nil
}

// tellLeft says how to come back to a session.
func tellLeft(id string) {
	fmt.Fprintf(os.Stderr, "\nart: left session %s: art attach %[1]s\n", id)
}

func (a *attachment) resize() {
	if cols, rows, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		// Fails if the session has ended, of which it tells.
		_ = a.conn.Send(&control.AttachMessage{Kind: control.AttachSize, Cols: cols, Rows: rows})
	}
}

// show shows what the session has to be seen, and returns how it ended, or nil.
func (a *attachment) show() *control.SessionEnd {
	if a.draw != nil {
		select {
		case <-a.draw:
		case <-a.typed:
		}
	}
	for {
		m, err := a.conn.ReceiveAttach()
		switch {
		case err != nil:
			return nil
		case m.Kind == control.AttachEnd:
			return &m.End
		case m.Kind == control.AttachData:
			_, _ = a.screen.Write(m.Data) // fails if the terminal is gone, which ends Carry
		}
	}
}

func (a *attachment) send(typed []byte) {
	if a.draw != nil {
		a.once.Do(func() { close(a.typed) })
	}
	if !a.view {
		// Fails if the session has ended, of which it tells.
		_ = a.conn.Send(&control.AttachMessage{Kind: control.AttachData, Data: typed})
	}
}
