package sandbox

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/sandbox/idmap"
)

// mappings are the ids of the stage: the caller's, with which it looks at the host, and beside root's an
// id that owns nothing, for the guest.
func (s *session) mappings() (uids, gids []syscall.SysProcIDMap) {
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	uids, gids = own(os.Getuid()), own(os.Getgid())
	if s.spare != 0 {
		guest := syscall.SysProcIDMap{ContainerID: rootGuest, HostID: s.spare, Size: 1}
		uids, gids = append(uids, guest), append(gids, guest)
	}
	return uids, gids
}

// chooseIDs decides whether the guest gets the spare id. Without one, or where a file system that it is to
// see cannot show root's files as the guest's, it has the caller's own.
func (s *session) chooseIDs() error {
	s.plan.View.CallerIsRoot = os.Getuid() == 0
	if s.spare != 0 && s.mappable() {
		s.plan.Drop, s.plan.View.CallerIsRoot = true, false
		if err := s.streams.Give(s.spare, s.spare); err != nil {
			return err
		}
	} else if s.spare != 0 && s.home != nil && !s.quiet {
		fmt.Fprintln(os.Stderr, "art: the guest has root's id on the host, since a file system that it sees, as that of its home, cannot map ids (man 7 art); --home= may do without")
	}
	return s.checkProcesses()
}

// mappable says whether the ids of all that the user has chosen to show can be mapped.
func (s *session) mappable() bool {
	if len(s.plan.Sources) == 0 {
		return true
	}
	root, err := unix.Open(s.plan.Workspace, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false // which the stage tells
	}
	defer unix.Close(root)
	if s.ids, err = idmap.New(s.spare); err != nil {
		return false
	}
	for _, path := range s.plan.Sources {
		fd, err := config.OpenHost(root, path)
		if err == nil {
			err = s.ids.Try(fd)
			unix.Close(fd)
		}
		if err != nil {
			return false
		}
	}
	return true
}

// mapIDs has a tree of the stage's show root's files as the guest's, which takes the rights that the
// caller has over the file system.
func (s *session) mapIDs(tree int) {
	answer := control.Message{Kind: control.MappedIDs}
	if err := s.ids.Apply(tree); err != nil {
		answer = control.Failure(err)
	}
	unix.Close(tree)
	// If the stage has gone, it has said why.
	_ = control.Send(s.link, -1, answer)
}

func (s *session) closeIDs() {
	if s.ids != nil {
		s.ids.Close()
	}
}

// hostIDs are what the guest's ids are on the host.
func (s *session) hostIDs() (uid, gid int) {
	if s.plan.Drop {
		return s.spare, s.spare
	}
	return os.Getuid(), os.Getgid()
}
