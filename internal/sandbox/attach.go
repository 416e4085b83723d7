package sandbox

import (
	"errors"
	"fmt"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	sessions "github.com/riverlytech/art/internal/session"
	"github.com/riverlytech/art/internal/terminal"
)

// answerAttach lets somebody look at the session's terminal, and type there.
func (s *session) answerAttach(c *sessions.Conn, ask *control.Ask) error {
	var attach control.AttachAsk
	if err := control.Unmarshal(ask.Body, &attach); err != nil {
		return fmt.Errorf("attach to the session: %w", err)
	}
	hub := s.streams.Hub
	switch {
	case hub == nil && s.streams.Terminal != nil:
		return cli.WithHint(errors.New("attach to the session: it cannot leave its terminal"), "it was started with empty --detach-keys")
	case hub == nil:
		return cli.WithHint(errors.New("attach to the session: it has no terminal"), "art logs shows what it writes, if it is in the background")
	}
	r := &s.registry
	r.mu.Lock()
	over := r.end != nil
	if !over {
		r.viewing.Add(1)
	}
	r.mu.Unlock()
	if over {
		return errEnded
	}
	if err := c.Answer(nil); err != nil {
		r.viewing.Done()
		return err
	}
	viewer := hub.View(terminal.Size{Cols: attach.Cols, Rows: attach.Rows})
	s.watched()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		defer r.viewing.Done()
		s.show(c, viewer)
	}()
	for going := true; going; {
		m, err := c.ReceiveAttach()
		if err != nil {
			break
		}
		switch {
		case m.Kind == control.AttachSize:
			viewer.Resize(terminal.Size{Cols: m.Cols, Rows: m.Rows})
		case m.Kind == control.AttachData && !attach.View:
			if !hub.Type(m.Data) && c.Gone() {
				c.Hangup() // there may be more that it has sent
				going = false
			}
		}
	}
	viewer.Leave()
	c.Hangup() // wakes a write that waits
	<-shown
	s.watched()
	return nil
}

// watched notes whether anyone looks at the terminal.
func (s *session) watched() {
	r := &s.registry
	watched := s.streams.Hub.Watched() > 0
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.info.State == control.Ending:
	case watched:
		r.info.State = control.Attached
	default:
		r.info.State = control.Detached
	}
}

// show sends a viewer what there is to see, and at the end how the session ended.
func (s *session) show(c *sessions.Conn, viewer *terminal.Viewer) {
	for piece := viewer.Next(); piece != nil; piece = viewer.Next() {
		if c.Send(&control.AttachMessage{Kind: control.AttachData, Data: piece}) != nil {
			viewer.Leave()
			c.Hangup()
			return
		}
	}
	if viewer.Left() {
		return
	}
	r := &s.registry
	<-r.ended
	r.mu.Lock()
	end := *r.end
	r.mu.Unlock()
	_ = c.Send(&control.AttachMessage{Kind: control.AttachEnd, End: end}) // who has gone need not know
}
