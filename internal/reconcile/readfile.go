package reconcile

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// hostFile is a file that is read, ahead or when it is its turn.
type hostFile struct {
	Dir  *os.File
	Name string
	size int64       // as it was met
	St   unix.Stat_t // as it was met; then as it was while it was read

	Hash   []byte
	Xattrs map[string]string

	Data []byte // ahead: all of it
	Err  error  // ahead: why it could not be read
	done sync.WaitGroup
}

func (f *hostFile) load() error {
	file, err := f.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	if f.St.Size >= bufferSize {
		return errChanging // it has grown
	}
	f.Data = takeBuffer(f.St.Size)
	if _, err := io.ReadFull(file, f.Data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errChanging
		}
		return hostfs.Unwrap(err)
	}
	hash := sha256.Sum256(f.Data)
	f.Hash = hash[:]
	return f.Finish(file)
}

// Look reads what else is moved of a file whose content is known.
func (f *hostFile) Look() error {
	file, err := f.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	return f.Finish(file)
}

// Drop gives up the content.
func (f *hostFile) Drop() {
	dropBuffer(f.Data)
	f.Data = nil
}

// Finish reads what else is moved of a file, and makes sure that it was the same all the time.
func (f *hostFile) Finish(file *os.File) (err error) {
	if f.Xattrs, err = userXattrs(file); err != nil {
		return err
	}
	after, err := hostfs.Stat(file)
	if err == nil && hostfs.Fingerprint(&after) != hostfs.Fingerprint(&f.St) {
		err = errChanging
	}
	return err
}

// Open opens it, as long as it is the one that was met.
func (f *hostFile) Open() (*os.File, error) {
	// O_NONBLOCK: should the name have become a fifo meanwhile, opening it must not wait.
	fd, err := unix.Openat(int(f.Dir.Fd()), f.Name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), f.Name)
	now, err := hostfs.Stat(file)
	if err == nil && (now.Dev != f.St.Dev || now.Ino != f.St.Ino || now.Mode&unix.S_IFMT != unix.S_IFREG) {
		err = errChanging
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	f.St = now
	return file, nil
}
