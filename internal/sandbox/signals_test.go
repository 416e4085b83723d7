package sandbox

import (
	"testing"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/terminal"
	"github.com/riverlytech/art/libexec"
)

// A command that is stopped in a session without the caller's terminal, as for reading its own from the background, goes on in the
// foreground of that: in the background it would be stopped again, without end.
func TestStoppedWithoutTheCallersTerminal(t *testing.T) {
	link, stub, err := libexec.Socketpair()
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	defer stub.Close()
	s := &session{streams: terminal.OpenHub(terminal.NewHub(terminal.Size{}, nil)), job: true, link: link}
	s.guestStopped()
	m, err := control.Receive(stub)
	if err != nil || m.Kind != control.Continue || !m.Foreground {
		t.Errorf("the stub is told %+v, %v", m, err)
	}
}
