package stage

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
)

// scratch is the one file system in memory whose directories the guest gets as /tmp, /var/tmp and /dev/shm, and in
// direct mode as its home: so all of them together have one size, which nothing else limits.
type scratch struct {
	root     int
	uid, gid int // the guest's
	count    *int
}

// newScratch mounts it in the staging directory.
func newScratch(p *Plan) (scratch, error) {
	size, err := scratchSize(p.Memory)
	if err != nil {
		return scratch{}, err
	}
	// As many files as pages: the kernel needs about a quarter of one for each, which it does not count.
	options := fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", size, size/4096)
	if err := unix.Mount("tmpfs", p.staged("scratch"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return scratch{}, err
	}
	root, err := openPath(p.staged("scratch"))
	uid, gid := p.ids()
	return scratch{root: root, uid: uid, gid: gid, count: new(int)}, err
}

// scratchSize is half of the machine's memory, which is the kernel's own default (tmpfs(5)), and no more than the limit
// if there is one.
func scratchSize(limit uint64) (uint64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, err
	}
	size := uint64(info.Totalram) * uint64(info.Unit) / 2
	if limit > 0 {
		size = min(size, limit)
	}
	return size, nil
}

// directory makes one with that mode, and returns a clone of it to be mounted. That has to be before all is made
// read-only.
func (s scratch) directory(mode uint32) (int, error) {
	*s.count++
	name := strconv.Itoa(*s.count)
	if err := unix.Mkdirat(s.root, name, 0o700); err != nil {
		return -1, err
	}
	if err := unix.Fchownat(s.root, name, s.uid, s.gid, 0); err != nil {
		return -1, err
	}
	if err := unix.Fchmodat(s.root, name, mode, 0); err != nil { // whatever the umask is
		return -1, err
	}
	return clone(s.root, name)
}

// sendHome gives art the directory that was made last: a clone that has nothing mounted on it, whatever the guest's has.
func (h *handles) sendHome() error {
	fd, err := clone(h.scratch.root, strconv.Itoa(*h.scratch.count))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return control.Send(h.link, fd, control.Message{Kind: control.Home})
}
