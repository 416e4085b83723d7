package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs/inode"
)

// entry is a file of the host's in a home.
type entry struct {
	record *record
	host   *hostFile            // nil: something is mounted there, or the host's directory is gone
	tried  [2]inode.Fingerprint // what the guest and the host had when they were compared last
}

func newEntry(r *record) (*entry, error) {
	e := &entry{record: r}
	if r.mode == modeMount {
		return e, nil
	}
	var err error
	e.host, err = openHostFile(HostFile{r.host, r.mode == modeWrites})
	return e, err
}

func (e *entry) name() string { return filepath.Base(e.record.guest) }

func (e *entry) close() {
	if e.host != nil {
		e.host.dir.Close()
	}
	e.record.close()
}

// side is what one side has.
type side struct {
	mode uint32 // zero: nothing
	st   unix.Stat_t
	data []byte // of a regular file
	sum  digest
}

func (s *side) regular() bool { return s.mode&unix.S_IFMT == unix.S_IFREG }

// readSide reads what a directory has under a name. Only a regular file is opened: what else a guest has made may act.
func readSide(dir *os.File, name string) (s side, err error) {
	f, err := hostfs.Open(dir, name, unix.O_PATH)
	if errors.Is(err, unix.ENOENT) {
		return side{}, nil
	}
	if err != nil {
		return side{}, err
	}
	defer f.Close()
	if s.st, err = hostfs.Stat(f); err != nil {
		return side{}, err
	}
	if s.mode = s.st.Mode; !s.regular() {
		return s, nil
	}
	r, err := os.Open(hostfs.Path(f))
	if err != nil {
		return s, hostfs.Unwrap(err)
	}
	defer r.Close()
	if s.data, s.st, err = Content(r); err == nil {
		s.sum = sha256.Sum256(s.data)
	}
	return s, err
}

// guest reads what the home has.
func (d *Directory) guest(e *entry) (side, error) {
	parent, err := d.parent(e.record.guest)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return side{}, nil
	}
	if err != nil {
		return side{}, err
	}
	defer parent.Close()
	return readSide(parent, e.name())
}

// begin puts an entry into the home, whose record is locked. What guests have there under its name is kept aside.
func (d *Directory) begin(e *entry, alone bool) error {
	h, err := readSide(e.host.dir, e.host.name())
	if err == nil && !h.regular() {
		err = unix.ENOENT
	}
	if err != nil {
		return fmt.Errorf("the host's file: %w", err)
	}
	parent, err := d.makeParent(e.record.guest)
	if err != nil {
		return err
	}
	defer parent.Close()
	g, err := hostfs.StatAt(parent, e.name())
	switch {
	case errors.Is(err, unix.ENOENT):
		return d.put(e, parent, &h)
	case err != nil:
		return err
	case g.Mode&unix.S_IFMT == unix.S_IFDIR:
		return errDirectory
	case !alone && g.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("there is a %s in its place", hostfs.KindName(g.Mode))
	case !alone, e.record.mode == modeOverlay && g.Mode&unix.S_IFMT == unix.S_IFREG:
		return nil // another session follows it, or it is the guest's own
	}
	if err := e.record.file.Sync(); err != nil { // it says where that belongs
		return hostfs.Unwrap(err)
	}
	own := d.keep(e, "own")
	if err := unix.Renameat2(int(parent.Fd()), e.name(), int(d.aside.Fd()), own, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return d.put(e, parent, &h)
}

// keep is the name of something that is kept aside for an entry.
func (d *Directory) keep(e *entry, what string) string {
	return d.prefix + recordName(e.record.guest) + "." + what
}

// look brings both sides together, if one of them has changed.
func (d *Directory) look(e *entry) {
	if e.host == nil {
		return
	}
	d.watch.add(d, e)
	now, young := d.versions(e)
	if now == e.tried {
		return
	}
	if e.record.lock(lockWait) != nil {
		return
	}
	defer e.record.unlock()
	_ = d.agree(e, false) // the end tells what is still so by then
	if young {
		d.watch.again() // two changes in a moment may look like one
	} else {
		e.tried = now
	}
}

// moment is how far apart two changes of a file are at least that have different times: the kernel's clock for that ticks
// every 10 ms at most (CONFIG_HZ of 100).
const moment = 20 * time.Millisecond

// versions says what both sides have, and whether one of them has it for less than a moment.
func (d *Directory) versions(e *entry) (now [2]inode.Fingerprint, young bool) {
	of := func(dir *os.File, name string) inode.Fingerprint {
		st, err := hostfs.StatAt(dir, name)
		if err != nil {
			return inode.Fingerprint{}
		}
		young = young || time.Since(time.Unix(st.Ctim.Unix())).Abs() < moment
		return hostfs.Fingerprint(&st)
	}
	if parent, err := d.parent(e.record.guest); err == nil {
		now[0] = of(parent, e.name())
		parent.Close()
	}
	now[1] = of(e.host.dir, e.host.name())
	return now, young
}

var (
	errBoth      = errors.New("the host's was changed too, and stays")
	errRestarted = errors.New("the machine was started again before that was done: the host's stays")
)

// agree brings both sides together. The record is locked. Where both have changed, the guest's counts; after a session
// that was killed, which may have been long ago, the host's.
func (d *Directory) agree(e *entry, killed bool) error {
	if e.record.mode == modeMount {
		return nil
	}
	g, err := d.guest(e)
	if err != nil {
		return fmt.Errorf("write %s: %w", e.record.host, err)
	}
	if !g.regular() {
		return nil
	}
	h, hostErr := d.host(e)
	there := hostErr == nil && h.regular()
	switch {
	case there && g.sum == h.sum:
		return e.record.agree(g.sum)
	case g.sum == e.record.agreed:
		if !there {
			return nil
		}
		return d.renew(e, &h)
	case e.record.mode == modeOverlay:
		return nil
	case killed && e.record.restarted():
		return fmt.Errorf("write %s: %w", e.record.host, errRestarted)
	case e.host == nil, killed && h.sum != e.record.agreed:
		return fmt.Errorf("write %s: %w", e.record.host, errBoth)
	}
	if err := e.host.write(g.data); err != nil {
		return fmt.Errorf("write %s: %w", e.record.host, hostfs.Unwrap(err))
	}
	return e.record.agree(g.sum)
}
