package git

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errLocked = errors.New("another git process works on it (or was killed: then remove the .lock file)")
	errMoved  = errors.New("the host has changed it just now")
)

// transaction changes several of git's files. All of them are locked, as git does it, by a file beside each that
// becomes the new one; the first takes its place when all are locked and written.
type transaction struct {
	host  *hostDir
	held  map[string]*os.File // locks, by the name of what is locked
	steps []func() error
}

// atomically runs a function that prepares a transaction, and carries that out.
func (p *Plan) atomically(prepare func(*transaction) error) error {
	t := &transaction{host: p.host, held: map[string]*os.File{}}
	defer t.unlock()
	if err := prepare(t); err != nil {
		return err
	}
	for _, step := range t.steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// then adds a step.
func (t *transaction) then(step func() error) { t.steps = append(t.steps, step) }

// lockTime is how long a lock is waited for, as git does (core.filesRefLockTimeout in git-config(1)).
const lockTime = 100 * time.Millisecond

// lock locks a file. put writes what is to replace it.
func (t *transaction) lock(name string) (put func(data []byte) error, err error) {
	f, err := t.host.create(name+".lock", 0o666)
	for until := time.Now().Add(lockTime); errors.Is(err, fs.ErrExist) && time.Now().Before(until); {
		time.Sleep(lockTime / 20)
		f, err = t.host.create(name+".lock", 0o666)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	t.held[name] = f
	t.host.removeEmpty(name, 0) // git leaves such directories behind
	if t.host.isDir(name) {
		return nil, unix.EISDIR
	}
	return func(data []byte) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		if err := fsync(f); err != nil {
			return err
		}
		t.then(func() error { return t.put(name) })
		return nil
	}, nil
}

// put has what was written take the place of what is locked.
func (t *transaction) put(name string) error {
	err := t.host.rename(name+".lock", name)
	if err == nil {
		t.held[name].Close()
		delete(t.held, name)
	}
	return err
}

// unlock gives back the locks of what was not replaced.
func (t *transaction) unlock() {
	for name, f := range t.held {
		f.Close()
		t.host.remove(name + ".lock")
	}
}

// removeEmpty removes a directory that holds nothing but such directories.
func (h *hostDir) removeEmpty(at string, depth int) {
	list, err := h.list(at)
	if err != nil || depth > maxDepth {
		return
	}
	for _, e := range list {
		if e.Dir {
			h.removeEmpty(at+"/"+e.Name, depth+1)
		}
	}
	if h.isDir(at) {
		h.remove(at)
	}
}

func (h *hostDir) isDir(at string) bool {
	d, err := h.open(at, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		d.Close()
	}
	return err == nil
}
