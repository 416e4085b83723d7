package files

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// watch hears when something changes in the directories of a home that have files of a session's. What it misses, the
// regular look finds.
type watch struct {
	fd      int      // of inotify(7)
	file    *os.File // the same; nil: there is none
	of      map[*entry]int
	changed chan struct{} // holds a token if something has changed
	stop    chan struct{}
	ended   chan struct{}
}

// watched are the changes that give a file other content. One that is written by mapping it into memory is none.
const watched = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_MOVED_TO

func newWatch() *watch {
	w := &watch{fd: -1, of: map[*entry]int{}, changed: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w // the user has no more of them
	}
	w.fd, w.file = fd, os.NewFile(uintptr(fd), "inotify")
	go func() {
		events := make([]byte, 16<<10)
		for {
			if _, err := w.file.Read(events); err != nil {
				return
			}
			w.again()
			time.Sleep(time.Millisecond) // a guest that writes all the time is not followed step by step
		}
	}()
	return w
}

// again has both sides looked at.
func (w *watch) again() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// add watches the directory that an entry is in now.
func (w *watch) add(d *Directory, e *entry) {
	if w.file == nil {
		return
	}
	before, known := w.of[e]
	wd := -1
	if parent, err := d.parent(e.record.guest); err == nil {
		if wd, err = unix.InotifyAddWatch(w.fd, hostfs.Path(parent), watched|unix.IN_ONLYDIR); err != nil {
			wd = -1
		}
		parent.Close()
	}
	w.of[e] = wd
	if !known || before == wd || before < 0 {
		return
	}
	for _, other := range w.of {
		if other == before {
			return
		}
	}
	_, _ = unix.InotifyRmWatch(w.fd, uint32(before)) // gone with its directory
}

func (w *watch) close() {
	close(w.stop)
	<-w.ended
	if w.file != nil {
		w.file.Close()
	}
}
