package fs

import (
	"errors"
	"slices"
	"sync"
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// errAsk ends a try that needs to know more of the host.
var errAsk = errors.New("the host is to be asked")

// fact is what the host has said of a path since an operation began. It may have aged since. Until the host was asked
// it is the question.
type fact struct {
	kind  factKind
	path  string
	asked uint64 // what the clock showed before, see watches
	err   error

	attr sqlvfs.Attr        // of a stat or an object
	fp   sqlvfs.Fingerprint // same

	target  string // of an object
	details        // same

	dir     *HostDir // of a directory, a list or a watch; of a stat, in which name is; nil: not open
	name    string
	node    *node    // who is to watch the directory, or, of a stat, to keep it open; nil: nobody
	entries []Dirent // of a list
	readErr error    // same

	file *HostFile // of a file

	do func(*facts) error // of an errand
}

type factKind int

const (
	statFact   factKind = iota // attributes
	objectFact                 // attributes, and what a copy-up needs besides
	dirFact                    // a directory, open
	listFact                   // a directory, open, with its entries
	fileFact                   // a regular file, open
	watchFact                  // whether it is watched was tried
	errand                     // no fact, but something to be done outside of a step
	spent                      // what had the answer has taken it
)

// facts are all that the host has said to one operation. The last is a question if asks.
type facts struct {
	list     []fact
	asks     bool
	accepted bool // another version of a file's origin, which is done once
	amends   int  // as the overlay had when the stats were asked for
}

// factsPool spares each lookup in the base an allocation.
var factsPool = sync.Pool{New: func() any { return &facts{} }}

// close closes what no step has taken, and forgets everything.
func (k *facts) close() {
	for i := range k.list {
		switch f := &k.list[i]; {
		case f.file != nil:
			f.file.Close()
		case f.dir != nil:
			f.dir.Close()
		}
	}
	clear(k.list)
	*k = facts{list: k.list[:0]}
	factsPool.Put(k)
}

// forgetStats has the host asked again.
func (k *facts) forgetStats() {
	if k == nil {
		return
	}
	k.list = slices.DeleteFunc(k.list, func(f fact) bool {
		if f.kind == statFact && f.dir != nil {
			f.dir.Close()
		}
		return f.kind == statFact
	})
}

// ask returns what the host has said, or ends the try with the question.
func (t *tx) ask(q fact) (*fact, error) {
	if t.known == nil {
		t.known = factsPool.Get().(*facts)
		t.known.amends = t.amends
	}
	for i := range t.known.list {
		if f := &t.known.list[i]; f.kind == q.kind && f.path == q.path && f.kind != errand {
			return f, nil
		}
	}
	if q.dir != nil {
		q.dir.acquire()
	}
	q.asked = t.clock()
	t.known.list, t.known.asks = append(t.known.list, q), true
	return nil, errAsk
}

// outside ends a try to have something done that is no part of a step. Its error is the operation's.
func (t *tx) outside(do func(*facts) error) error {
	_, err := t.ask(fact{kind: errand, do: do})
	return err
}

// answer has the host answer the question.
func (o *Overlay) answer(k *facts) error {
	f := &k.list[len(k.list)-1]
	switch f.kind {
	case statFact:
		if f.dir == nil && f.node != nil {
			f.dir, f.err = o.host.openForLookups(dirOf(f.path))
		}
		switch {
		case f.err != nil:
		case f.dir != nil:
			f.attr, f.fp, f.err = f.dir.Lstat(f.name)
		default:
			f.attr, f.fp, f.err = o.host.Lstat(f.path)
		}
	case objectFact:
		f.attr, f.fp, f.err = o.host.Lstat(f.path)
		if f.err == nil && f.attr.IsSymlink() {
			f.target, f.err = o.host.Readlink(f.path)
		}
		if f.err == nil {
			f.details, f.err = o.host.details(f.path)
		}
	case dirFact, listFact:
		if f.dir == nil {
			if f.dir, f.err = o.host.OpenDir(f.path); f.err == nil && f.node != nil {
				o.watchDir(f.node, f.path, f.dir, f.asked)
			}
		}
		if f.err == nil && f.kind == listFact {
			f.entries, f.readErr = f.dir.ReadAll()
		}
	case fileFact:
		f.file, f.err = o.host.Open(f.path)
	case watchFact:
		f.dir, _ = o.host.OpenDir(f.path) // else it cannot be watched either
		o.watchDir(f.node, f.path, f.dir, f.asked)
	case errand:
		do := f.do
		k.list = slices.Delete(k.list, len(k.list)-1, len(k.list))
		return do(k)
	}
	return nil
}

// lstat asks the host what is at a path of the base. The path's own error is in the answer.
func (t *tx) lstat(path string) (*fact, error) { return t.ask(fact{kind: statFact, path: path}) }

// mustLstat is lstat for what has to be there.
func (t *tx) mustLstat(path string) (*fact, error) {
	now, err := t.lstat(path)
	if err == nil {
		err = now.err
	}
	return now, err
}

// openDir opens a node's directory in the base, has it watched, and reads its entries if they are wanted. nil without an
// error says that the base supplies nothing.
func (t *tx) openDir(n *node, watch, read bool) (*fact, error) {
	if !n.inBase() {
		return nil, nil
	}
	q := fact{kind: dirFact, path: n.base.path}
	if read {
		q.kind = listFact
	}
	if watch {
		q.node = n
	}
	if dir := n.base.dir; dir != nil && dir.listable && dir.path == n.base.path {
		q.dir = dir
	}
	d, err := t.ask(q)
	if err != nil {
		return nil, err
	}
	if n.in != nil && oneOf(d.err, syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP) {
		return nil, nil // it has vanished under a row of the delta
	}
	return d, d.err
}

// watch has the host tell of changes in a node's base directory, if that is possible. What the kernel may keep of the
// directory must be asked of the host afterwards.
func (t *tx) watch(n *node) error {
	if t.watches == nil || !n.inBase() || n.base.watch != nil || n.base.unwatchable {
		return nil
	}
	_, err := t.ask(fact{kind: watchFact, path: n.base.path, node: n})
	return err
}

// openFile opens a file of the base, which is the caller's from then on.
func (t *tx) openFile(path string) (*HostFile, error) {
	f, err := t.ask(fact{kind: fileFact, path: path})
	if err != nil {
		return nil, err
	}
	file, err := f.file, f.err
	f.kind, f.file = spent, nil
	return file, err
}
