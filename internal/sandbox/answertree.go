package sandbox

import (
	"errors"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/processes"
	sessions "github.com/riverlytech/art/internal/session"
)

// What a program of the guest writes through a shared mapping (mmap(2)), the kernel keeps until it thinks fit to hand it over, for up
// to half a minute. Who wants the tree as it is now, for a checkpoint, going back, a push, a pull or a comparison, is to have that too.
// art-fuse can ask for it file by file, and knows of no mapping; /proc does. syncfs(2) of the mount would not do: with FUSE it does
// not wait for what it has handed over (wait_sb_inodes in fs/fs-writeback.c).

const (
	// mappedWithin bounds how long the guest can hold up who looks what it has mapped.
	mappedWithin = time.Second
	// maxWritten is how many mapped files are handed over. So many fit into a message.
	maxWritten = 4096
	// maxMapping is how many processes are looked at.
	maxMapping = 4096
)

// answerTree hands a connection on to art-fuse.
func (s *session) answerTree(c *sessions.Conn) error {
	if s.plan.Database == "" {
		return errors.New("this session has no database: what it changes is on the host at once")
	}
	if err := c.Answer(nil); err != nil {
		return err
	}
	var roots []int
	s.registry.do(func() {
		if s.guest != nil {
			roots, _ = s.roots()
		}
	})
	var list []processes.Process
	for _, root := range roots {
		list = append(list, processes.Below(root, maxMapping-len(list), func(int) bool { return false })...)
	}
	written := s.mapped.Written(list, maxWritten, mappedWithin)
	// What fails is the end of the connection.
	s.registry.do(func() {
		if s.control == nil || s.guest == nil {
			return
		}
		if len(written) > 0 {
			_ = control.Send(s.control, -1, control.Message{Kind: control.Written, Inodes: written})
		}
		_ = control.Send(s.control, int(c.File.Fd()), control.Message{Kind: control.Client})
	})
	return nil
}
