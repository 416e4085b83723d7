package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/hostfs"
)

// Directory is a home that is a plain directory, and the files of the host's that a session has in it. What else is in it
// guests have written, and may be writing: no link is followed there.
type Directory struct {
	home    *os.File
	records *os.File // nil: nobody else uses the home, and it goes away with the session
	aside   *os.File // where files are kept that are not in the home, or not yet
	prefix  string   // of their names
	owner   Owner
	entries []*entry
	// sessions are the notes of this one.
	sessions []*os.File

	watch *watch // nil until it is followed
	end   sync.Once
	told  []error
}

// Owner is who owns what is made in a home.
type Owner struct{ UID, GID int }

// InMemory is a home that goes away with the session. It is closed at the end.
func InMemory(home *os.File, owner Owner) *Directory {
	return &Directory{home: home, aside: home, prefix: ".art-", owner: owner}
}

// Shared is a home that sessions share, with their records beside it.
func Shared(home, records *os.File) *Directory {
	d := &Directory{home: home, records: records, aside: records, owner: Owner{os.Geteuid(), os.Getegid()}}
	if !sameMount(home, records) {
		d.aside, d.prefix = home, ".art-" // nothing can be renamed from one to the other
	}
	return d
}

func sameMount(a, b *os.File) bool {
	var ids [2]uint64
	for i, f := range []*os.File{a, b} {
		var st unix.Statx_t
		if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
			return false
		}
		ids[i] = st.Mnt_id
	}
	return ids[0] == ids[1]
}

// Sweep ends what sessions that were killed have left in the home, and returns what the user should know of that.
func (d *Directory) Sweep() (told []error) {
	d.awaitGuests()
	list, err := hostfs.Open(d.records, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer list.Close()
	names, _ := hostfs.Names(list)
	for _, name := range names {
		if strings.Contains(name, ".") {
			continue // what is kept aside for a record
		}
		r, alone, err := openRecord(d.records, name, 0)
		if err != nil {
			continue
		}
		if alone {
			told = append(told, d.sweep(r)...)
		}
		r.close()
	}
	return told
}

// sweep ends what a session has left that was killed. The record is locked.
func (d *Directory) sweep(r *record) []error {
	if r.guest == "" { // it was killed before anything was done, or the record is damaged
		if _, err := hostfs.StatAt(d.aside, d.prefix+r.file.Name()+".own"); errors.Is(err, unix.ENOENT) {
			r.remove()
		}
		return nil
	}
	e, err := newEntry(r)
	if err != nil { // the host's directory is gone
		e = &entry{record: r}
	}
	defer e.close()
	return d.finish(e, true)
}

// Reserve notes that the session mounts something at a path of the home. Another session must not put a file there: a mount
// goes away when what it is on is renamed.
func (d *Directory) Reserve(guest string) error {
	e, _, err := d.claim(use{modeMount, guest, "/"})
	if err == nil {
		e.record.unlock()
	}
	return err
}

// Add puts a file of the host's into the home.
func (d *Directory) Add(guest string, host HostFile) error {
	mode := modeOverlay
	if host.Writes {
		mode = modeWrites
	}
	e, alone, err := d.claim(use{mode, guest, host.Path})
	if err != nil {
		return err
	}
	if err = d.begin(e, alone); err != nil {
		d.entries = d.entries[:len(d.entries)-1]
		if alone {
			d.finish(e, true)
		}
		e.close()
		return err
	}
	e.record.unlock()
	return nil
}

// claim begins to use a path of the home. The record of the entry is locked.
func (d *Directory) claim(u use) (e *entry, alone bool, err error) {
	r := &record{use: u}
	alone = true
	if d.records != nil {
		r, alone, err = openRecord(d.records, recordName(u.guest), unix.O_CREAT)
	}
	if err != nil {
		return nil, false, err
	}
	if alone && r.file != nil && r.guest != "" { // its session was killed a moment ago, or could not take it away
		d.awaitGuests()
		told := d.sweep(r)
		r.close()
		if !r.removed {
			err := errors.New("the record of a session that was killed cannot be removed")
			if len(told) > 0 {
				err = told[len(told)-1]
			}
			return nil, false, err
		}
		d.told = append(d.told, told...)
		return d.claim(u)
	}
	switch {
	case alone:
		err = r.begin(u)
	case r.use != u:
		has := fmt.Sprintf("%s there (%s)", r.host, r.mode)
		if r.mode == modeMount {
			has = "a file mounted there"
		}
		err = cli.WithHint(fmt.Errorf("another session of this home has %s", has), "wait until that has ended, or use another home")
	}
	if err == nil {
		e, err = newEntry(r)
	}
	if err != nil {
		r.close()
		return nil, false, err
	}
	d.entries = append(d.entries, e)
	return e, alone, nil
}

// parent opens the directory of a path of the home.
func (d *Directory) parent(path string) (*os.File, error) {
	return hostfs.Open(d.home, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
}

// makeParent opens the directory of a path of the home, and makes what there is not of it.
func (d *Directory) makeParent(path string) (*os.File, error) {
	at, err := hostfs.Open(d.home, ".", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil || filepath.Dir(path) == "." {
		return at, err
	}
	for _, name := range strings.Split(filepath.Dir(path), "/") {
		made := unix.Mkdirat(int(at.Fd()), name, 0o755)
		next, err := hostfs.Open(at, name, unix.O_PATH|unix.O_DIRECTORY)
		at.Close()
		if err == nil && made == nil && d.records == nil {
			err = unix.Fchownat(int(next.Fd()), "", d.owner.UID, d.owner.GID, unix.AT_EMPTY_PATH)
		}
		if err != nil {
			if next != nil {
				next.Close()
			}
			return nil, err
		}
		at = next
	}
	return at, nil
}

// Follow follows both sides until End.
func (d *Directory) Follow() {
	if len(d.entries) == 0 || d.watch != nil {
		return
	}
	d.watch = newWatch()
	go func() {
		defer close(d.watch.ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			for _, e := range d.entries {
				d.look(e)
			}
			select {
			case <-d.watch.stop:
				return
			case <-tick.C:
			case <-d.watch.changed:
				Settle(d.watch.changed, d.watch.stop)
			}
		}
	}()
}

// End brings both sides together for the last time, takes the files away unless other sessions use them, and returns what
// the user should know. The session's guest has ended.
func (d *Directory) End() []error {
	d.end.Do(func() {
		if d.watch != nil {
			d.watch.close()
		}
		for _, e := range d.entries {
			if err := e.record.lock(lockWait); err != nil {
				d.told = append(d.told, fmt.Errorf("write %s: %w", e.record.host, err))
			} else if alone, err := e.record.alone(); err == nil && alone {
				d.told = append(d.told, d.finish(e, false)...)
			} else if err := d.agree(e, false); err != nil {
				d.told = append(d.told, err)
			}
			e.close()
		}
		if d.records == nil {
			d.home.Close()
		}
		d.ended()
	})
	return d.told
}

var errDirectory = cli.WithHint(errors.New("there is a directory in its place"),
	"a guest has made it: remove it, if this home does not need it")
