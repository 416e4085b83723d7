package sync

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// placeAcross puts what is staged where another file system is mounted in the workspace, so that a
// rename alone does not lead there: it is staged once more, in the directory itself. There can be
// no hard links across.
func (p *puller) placeAcross(a *operation, d *os.File, name string) error {
	s := &staging{dir: d}
	tmp := p.staging.name
	err := p.stageAcross(a, s, tmp)
	if err == nil {
		err = unix.UtimesNanoAt(int(d.Fd()), tmp, times(&a.attr), unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = unix.Renameat(int(d.Fd()), tmp, int(d.Fd()), name)
	}
	if err != nil {
		s.discard(tmp)
	}
	return err
}

func (p *puller) stageAcross(a *operation, s *staging, tmp string) error {
	if a.do == symlink {
		return p.makeSymlink(a, s.dir, tmp)
	}
	from, err := p.host.open(p.staging.name+"/"+a.tmp, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := s.create(tmp)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		return unwrap(err)
	}
	if _, err := p.setOwnerAndMode(to, a.item); err != nil {
		return err
	}
	return unwrap(to.Sync())
}
