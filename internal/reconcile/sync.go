package reconcile

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// What a pull has done on the host is durable before the database says so, and lets go of the guest's: the two
// may be on different disks.

// syncfs is syncfs(2). Tests put another in its place.
var syncfs = unix.Syncfs

// devices are those on which something was done, with a path of the workspace on each: other file systems may be
// mounted in it.
type devices map[uint64]string

// sync makes durable what was done on them.
func (d devices) sync(h *host) error {
	for dev, rel := range d {
		if err := h.syncAt(rel, dev); err != nil {
			return h.failed(fmt.Errorf("sync: %w", err))
		}
	}
	return nil
}

// syncAt syncs the device that a path is on. What was there may be gone, or closed to us.
func (h *host) syncAt(rel string, dev uint64) error {
	f, err := h.open(rel, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		if rel == "." || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ELOOP) {
			return err
		}
		return h.syncAt(path.Dir(rel), dev)
	}
	defer f.Close()
	if st, err := hostfs.Stat(f); err != nil || st.Dev != dev {
		return errors.Join(err, errors.New("what was mounted in it is gone"))
	}
	return syncfs(int(f.Fd()))
}

// wrote notes that something was done on a device.
func (p *puller) wrote(dev uint64, rel string) {
	if p.written == nil {
		p.written = devices{}
	}
	p.written[dev] = rel
}

// sync makes durable what was done in the workspace and in repositories.
func (p *puller) sync() error {
	for _, r := range p.sortedRepos() {
		if !r.done {
			continue
		}
		st, err := hostfs.Stat(r.dirs[0])
		switch {
		case err == nil && r.on == nil:
			p.wrote(st.Dev, r.dir)
		case err == nil:
			err = syncfs(int(r.dirs[0].Fd()))
		}
		if err != nil {
			return fmt.Errorf("%s: sync: %w", p.hostPath(r.dir), err)
		}
	}
	return p.written.sync(p.host)
}
