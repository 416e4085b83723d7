package stub

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/seccomp"
)

// notify loads the filter that asks about calls that are refused, for the calling thread and for what that becomes, and
// sends art what it is asked by.
func (p *Payload) notify(link *os.File) error {
	if p.Notify == nil {
		return nil
	}
	program, err := seccomp.Unmarshal(p.Notify)
	if err != nil {
		return err
	}
	listener, err := seccomp.Listen(program)
	if errors.Is(err, unix.EBUSY) {
		// Somebody around art listens already, and there can be only one.
		if program, err = seccomp.Unmarshal(p.Refuse); err != nil {
			return err
		}
		return seccomp.Install(program)
	}
	if err != nil {
		return fmt.Errorf("load the filter of refused calls: %w", err)
	}
	defer unix.Close(listener)
	return control.Send(link, listener, control.Message{Kind: control.Listening})
}
