package files

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs/inode"
)

// lookEvery is how often the host's files are looked at.
const lookEvery = time.Second

// Host is the host's side of the files of a session.
type Host struct {
	sock  *os.File
	files []*hostFile
	ended chan struct{}
}

// HostFile is a file of the host's, by its path, which is absolute and without symbolic links.
type HostFile struct {
	Path   string
	Writes bool // the guest may write it
}

// hostFile is one in a directory that stays the same whatever is renamed.
type hostFile struct {
	HostFile
	dir   *os.File          // O_PATH
	known inode.Fingerprint // what the guest's side has
	told  error             // what the user should know
}

func (f *hostFile) name() string { return filepath.Base(f.Path) }

// Open opens the directories of the files.
func Open(list []HostFile) (*Host, error) {
	h := &Host{ended: make(chan struct{})}
	for _, f := range list {
		file, err := openHostFile(f)
		if err != nil {
			h.close()
			return nil, err
		}
		h.files = append(h.files, file)
	}
	return h, nil
}

func openHostFile(f HostFile) (*hostFile, error) {
	dir := filepath.Dir(f.Path)
	fd, err := hostfs.OpenAt(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, hostfs.NoSymlinks)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return &hostFile{HostFile: f, dir: os.NewFile(uintptr(fd), dir)}, nil
}

func (h *Host) close() {
	for _, f := range h.files {
		f.dir.Close()
	}
}

// Serve serves the other side of sock, and closes sock when that ends.
func (h *Host) Serve(sock *os.File) {
	h.sock = sock
	messages := make(chan Message)
	go ReceiveAll(sock, len(h.files), messages)
	go func() {
		defer close(h.ended)
		defer h.close()
		defer sock.Close()
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for first := true; ; first = false {
			h.look(first)
			select {
			case <-tick.C:
			case m := <-messages:
				if m.Err != nil {
					return
				}
				h.handle(&m)
			}
		}
	}()
}

// Told waits for the end, and returns what the user should know.
func (h *Host) Told() (told []error) {
	<-h.ended
	for _, f := range h.files {
		if f.told != nil {
			told = append(told, f.told)
		}
	}
	return told
}

// look sends each file that is another than the one that was sent last. What is gone, or in the middle of being replaced,
// the guest keeps; first, it is told that there is none.
func (h *Host) look(first bool) {
	for i, f := range h.files {
		file, err := f.changed()
		if file == nil && (err == nil || !first) {
			continue
		}
		fd := -1
		if file != nil {
			fd = int(file.Fd())
		}
		err = Send(h.sock, fd, "file", i)
		if file != nil {
			file.Close()
		}
		if err != nil {
			return // the other side has ended
		}
	}
}

// changed opens the file if it is another than the one that is known.
func (f *hostFile) changed() (*os.File, error) {
	st, err := hostfs.StatAt(f.dir, f.name())
	if err != nil || hostfs.Fingerprint(&st) == f.known {
		return nil, err
	}
	file, err := hostfs.Open(f.dir, f.name(), unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if st, err = hostfs.Stat(file); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = unix.EINVAL
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	f.known = hostfs.Fingerprint(&st)
	return file, nil
}

func (h *Host) handle(m *Message) {
	defer m.Close()
	f, answer := h.files[m.File], "done"
	switch {
	case m.Kind == "removed":
		f.told = fmt.Errorf("the guest removed its %s: the host's stays", f.Path)
		return
	case m.Kind == "other":
		f.told = fmt.Errorf("the guest made something else of its %s: the host's stays", f.Path)
		return
	case m.Kind != "wrote" || m.FD == nil || !f.Writes:
		return
	}
	data, _, err := Content(m.FD)
	if err == nil {
		err = f.write(data)
	}
	f.told = nil
	if err != nil {
		f.told = fmt.Errorf("write %s: %w", f.Path, hostfs.Unwrap(err))
		answer = "failed"
	}
	_ = Send(h.sock, -1, answer, m.File) // or the other side has ended
}

// write writes the file, which others always see whole; where another file cannot take its place, it is written in place.
func (f *hostFile) write(data []byte) error {
	st, err := hostfs.StatAt(f.dir, f.name())
	switch {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file any more")
	case f.holds(data):
		return nil // the guest has changed its mode or its times
	case st.Nlink > 1 || hasACL(f):
		return f.overwrite(data)
	}
	err = f.replace(data, &st)
	for _, refused := range []error{unix.EACCES, unix.EPERM, unix.EROFS, unix.EBUSY} { // the last where something is mounted on it
		if errors.Is(err, refused) {
			return f.overwrite(data)
		}
	}
	return err
}

// holds says whether the file has that content.
func (f *hostFile) holds(data []byte) bool {
	s, err := readSide(f.dir, f.name())
	return err == nil && s.regular() && bytes.Equal(s.data, data)
}

// hasACL says whether more than the mode tells who may read the file (acl(5)).
func hasACL(f *hostFile) bool {
	file, err := hostfs.Open(f.dir, f.name(), unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return true
	}
	defer file.Close()
	_, err = unix.Fgetxattr(int(file.Fd()), "system.posix_acl_access", nil)
	return err == nil
}

// replace puts another file with the same owner and mode in the file's place.
func (f *hostFile) replace(data []byte, st *unix.Stat_t) error {
	name := "." + f.name()
	name = fmt.Sprintf("%s.art-%d", name[:min(len(name), 200)], os.Getpid())
	file, named, err := f.create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = file.Write(data); err == nil && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
		err = file.Chown(int(st.Uid), int(st.Gid))
	}
	if err == nil {
		err = unix.Fchmod(int(file.Fd()), st.Mode&0o777)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil && !named {
		_ = unix.Unlinkat(int(f.dir.Fd()), name, 0) // of a process of that number, which was killed in between
		// open(2), O_TMPFILE: this takes no capability.
		err = unix.Linkat(unix.AT_FDCWD, hostfs.Path(file), int(f.dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
		named = err == nil
	}
	if err == nil {
		err = unix.Renameat(int(f.dir.Fd()), name, int(f.dir.Fd()), f.name())
	}
	if err != nil && named {
		_ = unix.Unlinkat(int(f.dir.Fd()), name, 0) // the error is told
	}
	if err == nil {
		f.wrote(file)
	}
	return err
}

// create makes a file that has no name until it is written, where the file system can do that: nothing is left of it if art
// is killed.
func (f *hostFile) create(name string) (file *os.File, named bool, err error) {
	fd, err := unix.Openat(int(f.dir.Fd()), ".", unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), name), false, nil
	}
	file, err = hostfs.Create(f.dir, name, 0o600)
	return file, true, err
}

// wrote notes the version that was written: what is under the name may be another's by now.
func (f *hostFile) wrote(file *os.File) {
	if st, err := hostfs.Stat(file); err == nil {
		f.known = hostfs.Fingerprint(&st)
	}
}

// overwrite writes into the file itself.
func (f *hostFile) overwrite(data []byte) error {
	has, err := readSide(f.dir, f.name())
	if err != nil {
		return err
	}
	file, err := hostfs.Open(f.dir, f.name(), unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer file.Close()
	if err = rewrite(file, has.data, data); err == nil {
		err = file.Sync()
	}
	if err == nil {
		f.wrote(file)
	}
	return err
}
