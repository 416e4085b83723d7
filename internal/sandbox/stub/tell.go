package stub

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/seccomp"
	"github.com/riverlytech/art/libexec"
)

// tell loads the filter that asks about calls that are refused, for the calling thread and for what that becomes, and
// sends art what it is asked by.
func (p *Payload) tell(link *os.File) error {
	if p.Telling == "" {
		return nil
	}
	program, err := seccomp.Unmarshal([]byte(p.Telling))
	if err != nil {
		return err
	}
	listener, err := seccomp.Listen(program)
	if errors.Is(err, unix.EBUSY) {
		// Somebody around art listens already, and there can be only one.
		return seccomp.Install(seccomp.Refusing(program))
	}
	if err != nil {
		return fmt.Errorf("load the filter of refused calls: %w", err)
	}
	defer unix.Close(listener)
	return libexec.SendFD(link, listener, []byte(Listening))
}
