package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// Sessions that share a home agree on its files by records beside it, where no guest writes: one for each path in the
// home that a session has a file at. A record also says what is to be done for a session that was killed.
//
// Locks on a record belong to an open file, not to a process (fcntl(2), open file description locks): every session that
// uses it has a shared one on byte 0, and who works on it an exclusive one on byte 1.

const (
	byteUsed, byteWork = 0, 1
	// lockWait is for how long to wait for another session's work on a file.
	lockWait = 10 * time.Second
	// maxRecord bounds what is read of a record, which holds two paths.
	maxRecord = 4 * unix.PathMax
)

// digest is a content's; that of nothing is zero.
type digest [sha256.Size]byte

// Modes of what a session has at a path of a home.
const (
	modeWrites  = "rw"
	modeOverlay = "overlay"
	modeMount   = "mount" // it is mounted there: nothing is written
)

// use is what a session has at a path in a home.
type use struct {
	mode, guest, host string
}

// record is one that this session uses.
type record struct {
	use
	agreed digest // what both sides had last; zero: nothing
	boot   string // which start of the machine that was in
	dir    *os.File
	file   *os.File // nil: nobody else uses the home, and there is none
	// removed says that the file is there no more.
	removed bool
}

// recordName is the name of the record for a path in a home.
func recordName(guest string) string {
	sum := sha256.Sum256([]byte(guest))
	return hex.EncodeToString(sum[:16])
}

// openRecord opens a record, makes it if it is to, and takes the lock of who works on it. alone says that no session that
// lives uses it.
func openRecord(dir *os.File, name string, flags int) (r *record, alone bool, err error) {
	for end := time.Now().Add(lockWait); ; {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0o600)
		if err != nil {
			return nil, false, err
		}
		r := &record{dir: dir, file: os.NewFile(uintptr(fd), name)}
		err = r.lock(time.Until(end))
		if err == nil {
			var st unix.Stat_t
			if st, err = hostfs.Stat(r.file); err == nil && st.Nlink == 0 {
				r.file.Close() // whoever had the lock has removed it
				continue
			}
		}
		if err == nil {
			alone, err = r.alone()
		}
		if err == nil {
			err = r.read()
		}
		if err != nil {
			r.file.Close()
			return nil, false, err
		}
		return r, alone, nil
	}
}

// setLock sets a lock without waiting.
func (r *record) setLock(kind int16, at int64) error {
	return unix.FcntlFlock(r.file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: at, Len: 1})
}

// lock waits until nobody else works on the record, and reads what is agreed by now.
func (r *record) lock(wait time.Duration) error {
	if r.file == nil {
		return nil
	}
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		switch err := r.setLock(unix.F_WRLCK, byteWork); {
		case err == nil && r.guest == "":
			return nil
		case err == nil:
			return r.read()
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EINTR):
			return err
		case time.Now().After(end):
			return errors.New("another session did not finish with it in time")
		}
	}
}

func (r *record) unlock() {
	if r.file != nil {
		_ = r.setLock(unix.F_UNLCK, byteWork) // closing the file does the same
	}
}

// alone says whether nobody else uses the record, which is locked, and uses it from now on.
func (r *record) alone() (bool, error) {
	if r.file == nil {
		return true, nil
	}
	err := r.setLock(unix.F_WRLCK, byteUsed)
	alone := err == nil
	if alone || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = r.setLock(unix.F_RDLCK, byteUsed) // nobody has an exclusive one without the other lock
	}
	return alone, err
}

// read reads what the record says. One that is damaged says nothing.
func (r *record) read() error {
	text, err := io.ReadAll(io.NewSectionReader(r.file, 0, maxRecord))
	if err != nil {
		return hostfs.Unwrap(err)
	}
	r.use, r.agreed, r.boot = parseRecord(text, r.file.Name())
	return nil
}

func parseRecord(text []byte, name string) (u use, agreed digest, boot string) {
	fields := strings.Split(string(text), "\x00")
	if len(fields) != 5 {
		return use{}, digest{}, ""
	}
	u = use{fields[1], fields[2], fields[3]}
	sum, err := hex.DecodeString(fields[0])
	if err != nil || len(sum) != sha256.Size || recordName(u.guest) != name || !filepath.IsLocal(u.guest) || !filepath.IsAbs(u.host) {
		return use{}, digest{}, ""
	}
	return u, digest(sum), fields[4]
}

// thisBoot names this start of the machine. What is not on the disk yet when the next one comes is lost, as a program's
// last writes may be: an empty file then is not what a guest has written.
func thisBoot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// restarted says whether the machine was started again since the record was begun.
func (r *record) restarted() bool { return r.file != nil && r.boot != thisBoot() }

// begin writes a record anew.
func (r *record) begin(u use) error {
	r.use, r.agreed = u, digest{}
	if r.file == nil {
		return nil
	}
	r.boot = thisBoot()
	text := strings.Join([]string{hex.EncodeToString(r.agreed[:]), u.mode, u.guest, u.host, r.boot}, "\x00")
	if len(text) >= maxRecord {
		return unix.ENAMETOOLONG
	}
	_, err := r.file.WriteAt([]byte(text), 0)
	if err == nil {
		err = r.file.Truncate(int64(len(text)))
	}
	return hostfs.Unwrap(err)
}

// agree notes what both sides have. This comes after both have it: who is killed in between leaves two sides that are
// the same, or that both count as changed.
func (r *record) agree(sum digest) error {
	if r.agreed == sum {
		return nil
	}
	r.agreed = sum
	if r.file == nil {
		return nil
	}
	if _, err := r.file.WriteAt([]byte(hex.EncodeToString(sum[:])), 0); err != nil {
		return fmt.Errorf("note what the home has: %w", hostfs.Unwrap(err))
	}
	return nil
}

// remove removes a record that is locked, and that nobody else uses.
func (r *record) remove() {
	if r.file != nil { // if it stays, the next session finds nothing to do in it
		r.removed = unix.Unlinkat(int(r.dir.Fd()), r.file.Name(), 0) == nil
	}
}

func (r *record) close() {
	if r.file != nil {
		r.file.Close()
	}
}
