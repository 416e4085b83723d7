package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// How a file comes into a home and goes out of it, whatever guests do there meanwhile. Nothing of theirs is deleted
// unless it is the same as the host's: what is in the way is renamed, then looked at.

// put puts the host's file where there is none.
func (d *Directory) put(e *entry, parent *os.File, h *side) error {
	new, err := d.make(e, h)
	if err != nil {
		return err
	}
	err = unix.Renameat2(int(d.aside.Fd()), new, int(parent.Fd()), e.name(), unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // NFS and others have no flags
		err = unix.Renameat(int(d.aside.Fd()), new, int(parent.Fd()), e.name())
	}
	if err != nil {
		_ = unix.Unlinkat(int(d.aside.Fd()), new, 0)
		return err
	}
	return e.record.agree(h.sum)
}

// make makes a file with what the host has, outside of the home where that can be.
func (d *Directory) make(e *entry, h *side) (name string, err error) {
	name = d.keep(e, "making")
	_ = unix.Unlinkat(int(d.aside.Fd()), name, 0) // of a session that was killed
	f, err := hostfs.Create(d.aside, name, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err = f.Write(h.data); err == nil && d.records == nil {
		err = f.Chown(d.owner.UID, d.owner.GID)
	}
	if err == nil {
		err = unix.Fchmod(int(f.Fd()), h.mode&0o777)
	}
	if err == nil {
		err = hostfs.SetTimes(f, []unix.Timespec{h.st.Mtim, h.st.Mtim})
	}
	if err == nil && d.records != nil {
		err = f.Sync() // after a power cut, the file is to be there whole if its name is
	}
	if err != nil {
		_ = unix.Unlinkat(int(d.aside.Fd()), name, 0) // the error is told
		return "", hostfs.Unwrap(err)
	}
	return name, nil
}

// renew puts what the host has by now in place of what both had. The two change places, so that what the guest has
// written in the very moment is seen, and put back.
func (d *Directory) renew(e *entry, h *side) error {
	parent, err := d.parent(e.record.guest)
	if err != nil {
		return err
	}
	defer parent.Close()
	if f := openWritten(parent, e.name()); f != nil {
		defer f.Close()
		return d.follow(e, f, h)
	}
	made, err := d.make(e, h)
	if err != nil {
		return fmt.Errorf("show %s: %w", e.record.host, err)
	}
	aside, old := int(d.aside.Fd()), d.keep(e, "old")
	err = unix.Renameat(aside, made, aside, old)
	if err == nil {
		err = d.exchange(e, parent, old, h)
	}
	if err != nil {
		_ = unix.Unlinkat(aside, made, 0)
		return fmt.Errorf("show %s: %w", e.record.host, err)
	}
	return nil
}

// openWritten opens an entry that somebody has open to write it; nil if nobody has. What is written to it later would be lost
// with another file in its place: a log for instance.
func openWritten(parent *os.File, name string) *os.File {
	at, err := hostfs.Open(parent, name, unix.O_PATH)
	if err != nil {
		return nil
	}
	defer at.Close()
	if st, err := hostfs.Stat(at); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	r, err := os.Open(hostfs.Path(at))
	if err != nil {
		return nil
	}
	defer r.Close()
	// A lease to read is refused if the file is open to be written (fcntl(2), F_SETLEASE).
	if _, err = unix.FcntlInt(r.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err == nil {
		_, _ = unix.FcntlInt(r.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return nil
	}
	if !errors.Is(err, unix.EAGAIN) {
		return nil
	}
	w, err := os.OpenFile(hostfs.Path(at), os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return w
}

// follow writes what the host has into an entry, from where that differs.
func (d *Directory) follow(e *entry, f *os.File, h *side) error {
	data, _, err := Content(f)
	if err != nil || sha256.Sum256(data) != e.record.agreed {
		return ignore(err, ErrTooLarge) // it was written in between
	}
	if err := rewrite(f, data, h.data); err != nil {
		return fmt.Errorf("show %s: %w", e.record.host, hostfs.Unwrap(err))
	}
	return e.record.agree(h.sum)
}

// rewrite makes a file hold other data than it does, in place. The room for that is taken before, so that a full disk takes
// nothing of what is there, and what is too long is cut last.
func rewrite(f *os.File, has, data []byte) error {
	same := 0
	for same < len(has) && same < len(data) && has[same] == data[same] {
		same++
	}
	if len(data) > same {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, int64(same), int64(len(data)-same))
		if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
			_ = f.Truncate(int64(len(has))) // gives back what was taken beyond the end
			return err
		}
		if _, err := f.WriteAt(data[same:], int64(same)); err != nil {
			return err
		}
	}
	if len(has) == len(data) {
		return nil
	}
	return f.Truncate(int64(len(data)))
}

// exchanges is how often a guest may write while its file is being replaced.
const exchanges = 100

func (d *Directory) exchange(e *entry, parent *os.File, old string, h *side) error {
	aside := int(d.aside.Fd())
	swap := func() error { return unix.Renameat2(aside, old, int(parent.Fd()), e.name(), unix.RENAME_EXCHANGE) }
	err := swap()
	if errors.Is(err, unix.EINVAL) { // there is no such call on this file system
		if err = unix.Renameat(aside, old, int(parent.Fd()), e.name()); err == nil {
			err = e.record.agree(h.sum)
		}
		return err
	}
	if err != nil { // the guest has removed it
		_ = unix.Unlinkat(aside, old, 0)
		return ignore(err, unix.ENOENT)
	}
	out, err := readSide(d.aside, old)
	if err == nil && out.regular() && out.sum == e.record.agreed {
		_ = unix.Unlinkat(aside, old, 0)
		return e.record.agree(h.sum)
	}
	// It was written in between, and goes back. If that brings out another than what it replaces, that is newer still.
	in, expected := out.sum, h.sum
	for range exchanges {
		if err := swap(); err != nil {
			break
		}
		if out, err = readSide(d.aside, old); err == nil && out.regular() && out.sum == expected {
			return unix.Unlinkat(aside, old, 0)
		}
		in, expected = out.sum, in
	}
	return d.giveBack(e, old)
}

// finish is the end of an entry whose record is locked, and which nobody else uses. It returns what the user should know.
func (d *Directory) finish(e *entry, killed bool) (told []error) {
	if e.record.mode == modeMount {
		e.record.remove()
		return nil
	}
	d.unlock(e)
	if killed {
		d.rescue(e)
	}
	err := d.agree(e, killed)
	g, readErr := d.guest(e)
	switch {
	case err != nil:
		told = append(told, d.lost(e, err))
	case readErr == nil && e.record.mode == modeWrites && g.mode == 0 && e.record.agreed != digest{} && !killed:
		told = append(told, fmt.Errorf("the guest removed its %s: the host's stays", e.record.host))
	case readErr == nil && e.record.mode == modeWrites && g.mode != 0 && !g.regular() && !killed:
		told = append(told, fmt.Errorf("the guest made a %s of its %s: the host's stays", hostfs.KindName(g.mode), e.record.host))
	}
	if d.records == nil {
		return told // all of it goes away
	}
	if err = d.takeAway(e); err == nil {
		err = d.restore(e)
	}
	if err != nil {
		return append(told, fmt.Errorf("take %s out of the home: %w", e.record.guest, err)) // the next session tries again
	}
	e.record.remove()
	return told
}

// unlock gives the owner of an entry, and of the directories that it is in, the rights to read it and to take it out, where a
// guest has taken those away.
func (d *Directory) unlock(e *entry) {
	mend := func(path string, kind, rights uint32) {
		f, err := hostfs.Open(d.home, path, unix.O_PATH)
		if err != nil {
			return
		}
		defer f.Close()
		if st, err := hostfs.Stat(f); err == nil && st.Mode&unix.S_IFMT == kind && unix.Access(hostfs.Path(f), rights>>6) != nil {
			_ = hostfs.Chmod(f, st.Mode&0o777|rights) // or what follows tells
		}
	}
	parts := strings.Split(e.record.guest, "/")
	for i := range parts[:len(parts)-1] {
		mend(strings.Join(parts[:i+1], "/"), unix.S_IFDIR, 0o700)
	}
	mend(e.record.guest, unix.S_IFREG, 0o400)
}

// lost says where what the guest has written is, if the host's file does not have it.
func (d *Directory) lost(e *entry, why error) error {
	if d.records != nil {
		return cli.WithHint(why, fmt.Sprintf("what the guest wrote is at ~/%s in the home", e.record.guest))
	}
	path, err := d.save(e)
	if err != nil {
		return fmt.Errorf("%w; what the guest wrote is lost: %w", why, hostfs.Unwrap(err))
	}
	return cli.WithHint(why, "what the guest wrote is in "+path)
}

// save copies an entry of a home that is about to go away, however large it has become.
func (d *Directory) save(e *entry) (path string, err error) {
	from, err := hostfs.Open(d.home, e.record.guest, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "art-*-"+e.name())
	if err != nil {
		return "", err
	}
	defer to.Close()
	if _, err = io.Copy(to, from); err != nil {
		_ = os.Remove(to.Name())
	}
	return to.Name(), err
}

// takeAway takes the host's file out of the home. What is another by now stays: it is the guest's own.
func (d *Directory) takeAway(e *entry) error {
	g, err := d.guest(e)
	if err != nil || !g.regular() || g.sum != e.record.agreed {
		return ignore(err, ErrTooLarge)
	}
	parent, err := d.parent(e.record.guest)
	if err != nil {
		return ignore(err, unix.ENOENT)
	}
	defer parent.Close()
	out := d.keep(e, "out")
	if err := unix.Renameat(int(parent.Fd()), e.name(), int(d.aside.Fd()), out); err != nil {
		return ignore(err, unix.ENOENT)
	}
	return d.giveBack(e, out)
}

// giveBack deletes what is kept aside if both sides had it, and gives it back to the guests otherwise.
func (d *Directory) giveBack(e *entry, name string) error {
	s, err := readSide(d.aside, name)
	switch {
	case err == nil && s.mode == 0:
		return nil
	case err == nil && s.regular() && s.sum == e.record.agreed:
		return unix.Unlinkat(int(d.aside.Fd()), name, 0)
	}
	return d.bring(e, name)
}

// restore brings back what the home had under the entry's name.
func (d *Directory) restore(e *entry) error {
	own := d.keep(e, "own")
	if _, err := hostfs.StatAt(d.aside, own); err != nil {
		return ignore(err, unix.ENOENT)
	}
	return d.bring(e, own)
}

// bring brings what is kept aside into the home, under the entry's name, or one like it if there is something.
func (d *Directory) bring(e *entry, name string) error {
	path := e.record.guest
	parent, err := d.makeParent(path)
	if err != nil { // guests have put something in the way
		path = filepath.Base(path)
		if parent, err = d.makeParent(path); err != nil {
			return err
		}
	}
	defer parent.Close()
	for n := range 1000 {
		to := filepath.Base(path)
		switch {
		case n == 1:
			to += ".art"
		case n > 1:
			to += fmt.Sprint(".art", n-1)
		}
		err = unix.Renameat2(int(d.aside.Fd()), name, int(parent.Fd()), to, unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return err
}

// rescue looks at what a session has kept aside that was killed: what is not the host's is the guests'.
func (d *Directory) rescue(e *entry) {
	aside := int(d.aside.Fd())
	_ = unix.Unlinkat(aside, d.keep(e, "making"), 0)
	for _, what := range []string{"old", "out"} {
		name := d.keep(e, what)
		s, err := readSide(d.aside, name)
		if err != nil || s.mode == 0 {
			continue
		}
		if g, err := d.guest(e); err == nil && g.regular() && s.regular() && s.sum == g.sum {
			_ = unix.Unlinkat(aside, name, 0)
		} else if h, err := d.host(e); err == nil && s.regular() && s.sum == h.sum {
			_ = unix.Unlinkat(aside, name, 0)
		} else {
			_ = d.giveBack(e, name) // or it stays where no guest is
		}
	}
}

func (d *Directory) host(e *entry) (side, error) {
	if e.host == nil {
		return side{}, unix.ENOENT
	}
	return readSide(e.host.dir, e.host.name())
}

// ignore returns an error that is not the one that may be.
func ignore(err, may error) error {
	if errors.Is(err, may) {
		return nil
	}
	return err
}
