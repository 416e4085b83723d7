package fs

import (
	"errors"
	"sync"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// tx is one try of a step. A step is a function that runs with nothing else happening to the overlay or the database,
// and that never waits. What it needs to know of the host it asks for, which ends the try: then the host is asked, and
// the step runs again from its beginning, on what is true by then. So a step asks before it changes anything, but for
// what may stay if it comes to nothing, as a copy-up may.
//
// Methods of tx are parts of a step.
type tx struct {
	*Overlay
	db       *sqlvfs.Tx
	known    *facts
	question question
	made     []*node // by this try; those that nothing refers to at its end are dropped
}

// errAsk ends a try that needs to know more of the host.
var errAsk = errors.New("the host is to be asked")

// access is how a step gets at the database, see [sqlvfs.Store].
type access int

const (
	viewing access = iota
	updating
	reducing
)

func (o *Overlay) view(step func(*tx) error) error   { return o.run(viewing, step) }
func (o *Overlay) update(step func(*tx) error) error { return o.run(updating, step) }
func (o *Overlay) reduce(step func(*tx) error) error { return o.run(reducing, step) }

func (o *Overlay) run(a access, step func(*tx) error) error {
	q, err := o.try(a, nil, step)
	if !q.open {
		return err
	}
	known := knownPool.Get().(*facts)
	for q.open {
		q.answer(o.host, known)
		q, err = o.try(a, known, step)
	}
	known.close()
	knownPool.Put(known)
	return err
}

// knownPool spares each lookup in the base an allocation.
var knownPool = sync.Pool{New: func() any { return &facts{} }}

// try runs a step once. It returns what the host is to be asked before the next try.
func (o *Overlay) try(a access, known *facts, step func(*tx) error) (q question, err error) {
	once := func(db *sqlvfs.Tx) error {
		t := &o.tx
		t.db, t.known = db, known
		err := step(t)
		for _, n := range t.made {
			t.drop(n)
		}
		q = t.question
		clear(t.made)
		t.db, t.known, t.question, t.made = nil, nil, question{}, t.made[:0]
		return err
	}
	switch a {
	case updating:
		err = o.store.Update(once)
	case reducing:
		err = o.store.Reduce(once)
	default:
		err = o.store.View(once)
	}
	return q, err
}

// question is what the host is to be asked: what is at a path, most of the time.
type question struct {
	open       bool // there is a question
	path, name string
	dir        *HostDir // in which path is name; nil: not open
	asked      uint64   // what the clock showed, see watches
	other      func(*facts)
}

func (q *question) answer(h *Host, f *facts) {
	if q.other != nil {
		q.other(f)
		return
	}
	s := stat{path: q.path, asked: q.asked}
	if q.dir != nil {
		s.attr, s.fp, s.err = q.dir.Lstat(q.name)
	} else {
		s.attr, s.fp, s.err = h.Lstat(q.path)
	}
	f.stats = append(f.stats, s)
}

// ask ends a try with a question to the host.
func (t *tx) ask(other func(*facts)) error {
	t.question = question{open: true, other: other}
	return errAsk
}

// facts are what the host has said since an operation began. They may have aged since.
type facts struct {
	stats   []stat
	objects []hostObject
	dirs    []hostDir
	files   []hostFile
	watched []string // directories that were tried to watch
}

// stat is what the host says of a path.
type stat struct {
	path  string
	attr  sqlvfs.Attr
	fp    sqlvfs.Fingerprint
	err   error
	asked uint64 // what the clock showed before, see watches
}

// hostObject is a stat with what a copy-up needs besides.
type hostObject struct {
	stat
	target string
	xattrs map[string][]byte
}

// hostDir is a directory of the base, opened to be read.
type hostDir struct {
	path    string
	dir     *HostDir
	err     error
	entries []Dirent
	read    bool  // entries are there
	readErr error // or it cannot be read
}

// hostFile is a file of the base, opened to be read; nil once a node has it.
type hostFile struct {
	path string
	file *HostFile
	err  error
}

// close closes what no step has taken, and forgets everything.
func (f *facts) close() {
	for _, d := range f.dirs {
		if d.dir != nil {
			d.dir.Close()
		}
	}
	for _, h := range f.files {
		if h.file != nil {
			h.file.Close()
		}
	}
	clear(f.objects)
	clear(f.dirs)
	clear(f.files)
	*f = facts{f.stats[:0], f.objects[:0], f.dirs[:0], f.files[:0], f.watched[:0]}
}

// lstat asks the host what is at a path of the base.
func (t *tx) lstat(path string) (stat, error) { return t.lstatIn(nil, path, "") }

// lstatIn is lstat of a name in a directory, which may be open: that is quicker.
func (t *tx) lstatIn(dir *HostDir, path, name string) (stat, error) {
	if s := t.known.stat(path); s != nil {
		return *s, nil
	}
	t.question = question{open: true, path: path, dir: dir, name: name, asked: t.clock()}
	return stat{}, errAsk
}

func (f *facts) stat(path string) *stat {
	if f != nil {
		for i := range f.stats {
			if f.stats[i].path == path {
				return &f.stats[i]
			}
		}
	}
	return nil
}

// forgetStats has the host asked again.
func (f *facts) forgetStats() {
	if f != nil {
		f.stats = f.stats[:0]
	}
}

// object asks the host for all that a copy-up of a path needs.
func (t *tx) object(path string) (*hostObject, error) {
	if t.known != nil {
		for i := range t.known.objects {
			if o := &t.known.objects[i]; o.path == path {
				return o, nil
			}
		}
	}
	host := t.host
	return nil, t.ask(func(f *facts) {
		o := hostObject{stat: stat{path: path}}
		o.attr, o.fp, o.err = host.Lstat(path)
		if o.err == nil && o.attr.IsSymlink() {
			o.target, o.err = host.Readlink(path)
		}
		if o.err == nil {
			o.xattrs, o.err = host.Xattrs(path)
		}
		f.objects = append(f.objects, o)
	})
}

// openDir opens a node's directory in the base, has it watched, and reads its entries if they are wanted. nil without an
// error says that the base supplies nothing.
func (t *tx) openDir(n *node, watch, read bool) (*hostDir, error) {
	if !n.based || n.gone || n.path == top {
		return nil, nil
	}
	var d *hostDir
	if t.known != nil {
		for i := range t.known.dirs {
			if t.known.dirs[i].path == n.path {
				d = &t.known.dirs[i]
			}
		}
	}
	if d == nil {
		o, path, opened := t.Overlay, n.path, t.clock()
		return nil, t.ask(func(f *facts) {
			d := hostDir{path: path}
			if d.dir, d.err = o.host.OpenDir(path); d.err == nil {
				if watch {
					o.watchDir(n, path, d.dir, opened)
				}
				if read {
					d.entries, d.readErr = d.dir.ReadAll()
					d.read = true
				}
			}
			f.dirs = append(f.dirs, d)
		})
	}
	if n.in != nil && (d.err == syscall.ENOENT || d.err == syscall.ENOTDIR || d.err == syscall.ELOOP) {
		return nil, nil // it has vanished under a row of the delta
	}
	if d.err == nil && read && !d.read {
		return nil, t.ask(func(*facts) { d.entries, d.readErr = d.dir.ReadAll(); d.read = true })
	}
	return d, d.err
}

// open opens a file of the base, which is the caller's from then on.
func (t *tx) open(path string) (*HostFile, error) {
	if t.known != nil {
		for i := range t.known.files {
			if f := &t.known.files[i]; f.path == path && (f.file != nil || f.err != nil) {
				file, err := f.file, f.err
				f.file, f.err = nil, nil
				return file, err
			}
		}
	}
	host := t.host
	return nil, t.ask(func(f *facts) {
		file, err := host.Open(path)
		f.files = append(f.files, hostFile{path, file, err})
	})
}

// watch has the host tell of changes in a node's base directory, if that is possible. What the kernel may keep of the
// directory must be asked of the host afterwards.
func (t *tx) watch(n *node) error {
	if t.watches == nil || n.watch != nil || n.unwatchable || !n.based || n.gone || n.path == top {
		return nil
	}
	if t.known != nil {
		for _, path := range t.known.watched {
			if path == n.path {
				return nil
			}
		}
	}
	o, path := t.Overlay, n.path
	return t.ask(func(f *facts) {
		f.watched = append(f.watched, path)
		o.watchDir(n, path, nil, 0)
	})
}
