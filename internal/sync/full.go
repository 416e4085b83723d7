package sync

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// isFull tells whether an error says that a disk has no room.
func isFull(err error) bool {
	errno := sqlvfs.Errno(err)
	return errno == syscall.ENOSPC || errno == syscall.EDQUOT
}

// roomHint adds to an error that ended a pull for want of room what was done by then.
func (p *puller) roomHint(err error) error {
	if err == nil || !isFull(err) || errors.As(err, new(cli.Hinted)) {
		return err
	}
	done := 0
	for _, o := range p.ops {
		if o.done && o.do != keep {
			done++
		}
	}
	if done == 0 {
		return cli.WithHint(err, "nothing was changed in the workspace: make room, and pull again")
	}
	return cli.WithHint(err, fmt.Sprintf("%s in the workspace: make room, and pull again to have the database know", count(done, "change")))
}
