package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// A checkpoint shows the host's files where the tree had nothing of its own. What a pull is about to change there, history takes first: as rows
// that the tree had at these checkpoints, and has not any more. A file has all of its content then, and a directory its origin, so that what
// is left alone in it still shows from the host; where the pull makes something, a whiteout. Nothing else needs to know of them: they are shown, compared,
// brought back, thinned and read by forks as all of history.
//
// Their inodes have numbers below 0. No condition on the highest number of a checkpoint excludes these, so they are of inodes
// that were there before it, and are gone.

// Effect is what a pull does to a path of the host.
type Effect uint8

// The effects.
const (
	Makes     Effect = iota // there is nothing, and something will be
	Replaces                // what is there goes, or becomes another; of a directory, with all that is in it
	Retouches               // of a directory, its attributes alone become others
	effects
)

// HostChange is what a pull is about to do to a path of a workspace.
type HostChange struct {
	Path   string
	Effect Effect
}

// HostChanges are those in a workspace.
type HostChanges struct {
	Workspace Tree
	List      []HostChange
}

// Check returns an error if the changes cannot be.
func (c *HostChanges) Check() error {
	for i := range c.List {
		if h := &c.List[i]; !database.ValidPath(h.Path) || h.Effect >= effects {
			return fmt.Errorf("a change of the host at %q cannot be", h.Path)
		}
	}
	if !ValidName(c.Workspace.Name) {
		return fmt.Errorf("there can be no workspace %q", c.Workspace.Name)
	}
	return nil
}

// HostTree is a directory of the host, to copy from. Errors are syscall.Errno, and ENOENT for what is not there to be shown.
type HostTree interface {
	// Describe returns what an overlay shows of an object, but for content.
	Describe(path string) (*HostObject, error)
	// Names returns a directory's entries.
	Names(path string) ([]string, error)
	// Content opens a regular file.
	Content(path string) (HostContent, error)
}

// NoHost is a HostTree of which nothing can be read.
type NoHost struct{}

// Describe implements HostTree.
func (NoHost) Describe(string) (*HostObject, error) { return nil, syscall.ESTALE }

// Names implements HostTree.
func (NoHost) Names(string) ([]string, error) { return nil, syscall.ESTALE }

// Content implements HostTree.
func (NoHost) Content(string) (HostContent, error) { return nil, syscall.ESTALE }

// HostObject is an object of the host.
type HostObject struct {
	Attr
	Fingerprint Fingerprint
	Number      uint64 // that an overlay shows for it
	Target      string // of a symbolic link
	Xattrs      map[string][]byte
}

// HostContent is an open file of the host.
type HostContent interface {
	io.ReaderAt
	io.Closer
	Version() (Fingerprint, error) // that it is now
}

// ErrPulling says that there can be no checkpoint, since a pull is changing what it would show.
var ErrPulling = errors.New("a pull is going on")

// KeepHost has history take what checkpoints show of a workspace on the host, before a pull changes it there. It is durable when KeepHost
// returns. Until [Store.EndPull] there is no new checkpoint, and none is dropped but for want of room. Steps go on meanwhile. What cannot be
// read is noted as lost. step is told of each file that was copied, and its size, and ends the work by an error. Other errors are those of the database; then nothing is
// lost that was there.
func (s *Store) KeepHost(t Tree, host HostTree, list []HostChange, step func(bytes int64) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tx.readOnly || s.tx.frozen:
		return ErrReadOnly
	case s.tx.closing:
		return ErrClosed
	}
	s.acquireWriter()
	defer s.releaseWriter()
	if err := s.commitGathered(); err != nil {
		return err
	}
	w := s.writer
	w.dropped = 0
	defer func() { s.tx.dropped += w.dropped }()
	s.mu.Unlock()
	defer s.mu.Lock()
	if err := w.connect(); err != nil {
		return w.Cause(err)
	}
	w.pulling = true
	if !w.found {
		if err := w.transact(w.checkpointFound); err != nil {
			return w.Cause(err)
		}
	}
	for {
		err := w.keepHost(t, host, list, step)
		if isFull(w.Cause(err)) && (w.makeRoom() || w.dropForRoom() == nil) {
			continue // what was copied is there, and shows no more from the host
		}
		if err == nil {
			err = w.sync()
		}
		return w.Cause(err)
	}
}

// EndPull says that a pull for which [Store.KeepHost] was called has ended.
func (s *Store) EndPull() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer == nil || s.tx.closing {
		return
	}
	s.acquireWriter()
	s.writer.pulling = false
	s.releaseWriter()
}

// changed is what a pull changes, as a tree of names.
type changedPath struct {
	effect Effect
	here   bool // it is changed itself
	below  map[string]*changedPath
}

func changedPaths(list []HostChange) *changedPath {
	top := &changedPath{}
	for _, c := range list {
		at := top
		for name := range strings.SplitSeq(c.Path, "/") {
			if name == "." {
				continue
			}
			next := at.below[name]
			if next == nil {
				next = &changedPath{}
				if at.below == nil {
					at.below = map[string]*changedPath{}
				}
				at.below[name] = next
			}
			at = next
		}
		at.here, at.effect = true, c.Effect
	}
	return top
}

// goes tells whether what the host has there goes, with all that is in it.
func (c *changedPath) goes() bool { return c != nil && c.here && c.effect == Replaces }

// find returns what is changed at a path, or whether it goes with a directory above it.
func (c *changedPath) find(path string) (at *changedPath, goes bool) {
	if at = c; path == "." {
		return at, at.goes()
	}
	for name := range strings.SplitSeq(path, "/") {
		if at = at.below[name]; at == nil {
			return nil, false
		}
		if at.goes() {
			return at, true
		}
	}
	return at, false
}

// span is a range of checkpoints, by their index.
type span struct{ lo, hi int }

// spans are the ranges for which something holds.
func spans(holds []bool) (list []span) {
	for i := 0; i < len(holds); i++ {
		if !holds[i] {
			continue
		}
		s := span{i, i}
		for i+1 < len(holds) && holds[i+1] {
			i++
		}
		s.hi = i
		list = append(list, s)
	}
	return list
}

// copier copies what checkpoints show of the host.
type copier struct {
	*history
	tree    Tree
	base    int64
	host    HostTree
	changed *changedPath
	step    func(bytes int64) error
	from    int              // the first checkpoint that copies are for
	objects map[object][]Ino // inodes by what they stand for; nil: not known yet
}

// keepHost is KeepHost, in as many transactions as it takes. After each, all checkpoints show what they have shown before.
func (w *writer) keepHost(t Tree, host HostTree, list []HostChange, step func(bytes int64) error) (err error) {
	all, err := checkpointsOf(w.conn)
	if err != nil || len(all) == 0 {
		return err
	}
	h, err := w.beginHistory(all)
	if err != nil {
		return err
	}
	defer h.end(&err)
	k := &copier{history: h, tree: t, host: host, changed: changedPaths(list), step: step}
	if k.base, err = w.base(t.Name); err != nil {
		return err
	}
	if err := k.leaveForks(list); err != nil {
		return err
	}
	shows, err := k.showsWorkspace()
	if err != nil {
		return err
	}
	for _, s := range spans(shows) {
		if err := k.copy(RootIno, t.Name, ".", k.changed, s, false); err != nil {
			return err
		}
	}
	return k.copyInto()
}

// leaveForks leaves out the checkpoints that a fork is of, and those before: a fork reads these, and would take copies for what its guest has changed. They
// show what the host has, as forks do.
func (k *copier) leaveForks(list []HostChange) error {
	held, err := newestHeld(k.w.conn)
	if err != nil || held == 0 {
		return err
	}
	for k.from < len(k.points) && k.points[k.from].ID <= held {
		k.from++
	}
	tree, err := k.w.tree(k.tree)
	for _, c := range list {
		if err == nil && c.Effect == Replaces {
			err = k.w.noteReplaced(tree, c.Path)
		}
	}
	return err
}

// showsWorkspace tells at which checkpoints all of the workspace shows, since it has no row.
func (k *copier) showsWorkspace() ([]bool, error) {
	always := make([]bool, len(k.points))
	for i := range always {
		always[i] = true
	}
	return k.uncovered(RootIno, k.tree.Name, always)
}

// copyInto copies what shows in directories that have a row, and what files have of the host's content.
func (k *copier) copyInto() error {
	type holder struct {
		ino  Ino
		path string
	}
	var holders []holder
	q := bind(k.w.Prep(`SELECT ino, path FROM art_origin WHERE base=?1 UNION SELECT ino, path FROM main.art_old_origin WHERE there=1 AND base=?1`), k.base)
	for k.w.Step(q) {
		h := holder{Ino(q.ColumnInt64(0)), string(q.ColumnRawBlob(1))}
		if !database.ValidPath(h.path) {
			continue
		}
		if at, _ := k.changed.find(h.path); at != nil {
			holders = append(holders, h)
		}
	}
	if err := k.w.Done(q); err != nil {
		return err
	}
	for _, h := range holders {
		inodes, err := k.inodes(h.ino)
		if err != nil {
			return err
		}
		origins, err := k.origins(h.ino)
		if err != nil {
			return err
		}
		dir, file := make([]bool, len(k.points)), false
		for i, in := range inodes {
			if o := origins[i]; in == nil || o == nil || o.base != k.base || o.path != h.path {
				origins[i] = nil
			} else if i < k.from {
				origins[i] = nil
			} else if dir[i] = in.isDir(); !dir[i] {
				file = true
			}
		}
		if err := k.copyEntries(h.ino, h.path, dir); err != nil {
			return err
		}
		if at, goes := k.changed.find(h.path); file && (goes || at.here) {
			if err := k.fill(h.ino, h.path, inodes, origins); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyEntries copies what shows in a directory that has a row, at those checkpoints at which it shows that directory of the host.
func (k *copier) copyEntries(dir Ino, path string, shows []bool) error {
	list := spans(shows)
	if len(list) == 0 {
		return nil
	}
	at, goes := k.changed.find(path)
	names, err := k.namesOf(path, at, goes)
	if err != nil {
		return err
	}
	for _, name := range names {
		free, err := k.uncovered(dir, name, shows)
		if err != nil {
			return err
		}
		for _, s := range spans(free) {
			if err := k.copy(dir, name, childPath(path, name), at.below[name], s, goes); err != nil {
				return err
			}
		}
	}
	if goes { // all of it is there
		for _, s := range list {
			if err := k.cutOrigin(dir, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// namesOf are the names in a directory of the host at which something is to be copied.
func (k *copier) namesOf(path string, at *changedPath, goes bool) (names []string, err error) {
	if !goes {
		return sortedKeys(at.below, strings.Compare), nil
	}
	names, err = k.host.Names(path)
	if err != nil {
		return nil, k.lost(path, hostError{err})
	}
	return names, nil
}

func childPath(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// uncovered tells at which of some checkpoints a directory has no entry of a name, nor hides it.
func (k *copier) uncovered(dir Ino, name string, of []bool) ([]bool, error) {
	entries, err := k.entries(dir, name)
	if err != nil {
		return nil, err
	}
	hidden, err := k.whiteouts(dir, name)
	free := make([]bool, len(of))
	for i := range of {
		free[i] = i >= k.from && of[i] && entries[i] == nil && hidden[i] == nil
	}
	return free, err
}

// copy has an entry of a directory be a copy of what the host has at a path, at some checkpoints. changed is what becomes of that; whole says
// that all of it is to be copied.
func (k *copier) copy(dir Ino, name, path string, changed *changedPath, s span, whole bool) error {
	whole = whole || changed.goes()
	if !whole && changed.here && changed.effect == Makes {
		return k.put(database.KeptWhiteout, s, dir, name)
	}
	o, err := k.host.Describe(path)
	if err != nil {
		return k.lost(path, hostError{err})
	}
	if o.IsDir() {
		return k.copyDir(dir, name, path, changed, s, whole, o)
	}
	if !whole {
		return nil // what was to be in it is not there
	}
	rest, err := k.link(dir, name, s, o)
	for _, s := range rest {
		if err == nil {
			err = k.copyFile(dir, name, path, s, *o)
		}
	}
	return err
}

// copyFile is copy of what is no directory.
func (k *copier) copyFile(dir Ino, name, path string, s span, o HostObject) (err error) {
	ino := k.next()
	switch {
	case o.IsRegular():
		if err := k.copyContent(ino, path, s, &o); err != nil {
			return k.lost(path, err)
		}
	case o.IsSymlink():
		err = k.put(database.KeptSymlink, s, ino, o.Target)
		o.Size = int64(len(o.Target))
	default:
		o.Size = 0
	}
	o.Nlink = 1 // its other names are copied on their own
	if err == nil {
		err = k.putInode(ino, s, &o)
	}
	if err == nil {
		err = k.put(database.KeptDentry, s, dir, name, ino)
	}
	if err == nil {
		err = k.step(o.Size)
	}
	return k.pause(err)
}

// link has an entry lead to the inode that stands for a file of the host with several names, where there is one, and returns at which
// checkpoints there is none.
func (k *copier) link(dir Ino, name string, s span, o *HostObject) ([]span, error) {
	if !o.IsRegular() || o.Nlink < 2 {
		return []span{s}, nil
	}
	if k.objects == nil {
		if err := k.findObjects(); err != nil {
			return nil, err
		}
	}
	rest := make([]bool, s.hi+1)
	for i := s.lo; i <= s.hi; i++ {
		rest[i] = true
	}
	f := &o.Fingerprint
	for _, ino := range k.objects[object{k.tree.Name, f.Dev, f.Ino}] {
		inodes, err := k.inodes(ino)
		if err != nil {
			return nil, err
		}
		origins, err := k.origins(ino)
		if err != nil {
			return nil, err
		}
		stands := make([]bool, s.hi+1)
		for i := range rest {
			was := origins[i]
			stands[i] = rest[i] && inodes[i] != nil && was != nil && was.base == k.base && was.Dev == f.Dev && was.Ino == f.Ino && was.Mtime == f.Mtime && was.Size == f.Size
			rest[i] = rest[i] && !stands[i]
		}
		for _, s := range spans(stands) {
			if err := k.put(database.KeptDentry, s, dir, name, ino); err != nil {
				return nil, err
			}
		}
	}
	return spans(rest), nil
}

// findObjects notes which inodes have which objects of the host as their origins, now or at a checkpoint.
func (k *copier) findObjects() error {
	k.objects = map[object][]Ino{}
	q := bind(k.w.Prep(`SELECT ino, dev, base_ino FROM art_origin WHERE base=?1 UNION SELECT ino, dev, base_ino FROM main.art_old_origin WHERE there=1 AND base=?1`), k.base)
	for k.w.Step(q) {
		o := object{k.tree.Name, uint64(q.ColumnInt64(1)), uint64(q.ColumnInt64(2))}
		k.objects[o] = append(k.objects[o], Ino(q.ColumnInt64(0)))
	}
	return k.w.Done(q)
}

// copyDir is copy of a directory. As long as not all of it is there, the host's shows through.
func (k *copier) copyDir(dir Ino, name, path string, changed *changedPath, s span, whole bool, o *HostObject) error {
	ino := k.next()
	o.Size = 0
	err := k.putInode(ino, s, o)
	if err == nil {
		err = k.putOrigin(ino, s, &oldOrigin{k.base, path, o.Fingerprint, 0, o.Mode, nil}, o.Number)
	}
	if err == nil {
		err = k.put(database.KeptDentry, s, dir, name, ino)
	}
	if err = k.pause(err); err != nil {
		return err
	}
	names, err := k.namesOf(path, changed, whole)
	if err != nil {
		return err
	}
	for _, name := range names {
		var below *changedPath
		if changed != nil {
			below = changed.below[name]
		}
		if err := k.copy(ino, name, childPath(path, name), below, s, whole); err != nil {
			return err
		}
	}
	if whole {
		return k.cutOrigin(ino, s)
	}
	return nil
}

// copyContent copies a file's content. Of one that cannot be read, nothing stays.
func (k *copier) copyContent(ino Ino, path string, s span, o *HostObject) error {
	f, err := k.host.Content(path)
	if err != nil {
		return hostError{err}
	}
	defer f.Close()
	size := k.w.store.chunkSize
	for index := int64(0); index*size < o.Size && err == nil; index++ {
		err = k.putContent(ino, index, s, f, o.Size, o.Size)
	}
	if err == nil {
		err = unchangedFrom(f, &o.Fingerprint)
	}
	if errors.As(err, new(hostError)) {
		err = cmp.Or(do(k.w.conn, "DELETE FROM main.art_old_data WHERE ino=?", ino), err)
	}
	return err
}

// hostError is an error of the host's.
type hostError struct{ error }

// unchangedFrom makes sure that what was read of a file is of one version.
func unchangedFrom(f HostContent, was *Fingerprint) error {
	now, err := f.Version()
	if err == nil && now != *was {
		err = ErrBaseChanged
	}
	if err != nil {
		err = hostError{err}
	}
	return err
}

// putContent copies one chunk of a file that is so long, as far as the host's content reaches. Zeros need no row.
func (k *copier) putContent(ino Ino, index int64, s span, f HostContent, limit, length int64) error {
	size := k.w.store.chunkSize
	start := index * size
	data := make([]byte, min(size, length-start))
	if _, err := f.ReadAt(data[:min(int64(len(data)), limit-start)], start); err != nil {
		return hostError{err}
	}
	if isZero(data) {
		return nil
	}
	k.bytes += len(data)
	return k.put(database.KeptData, s, ino, index, data)
}

// fill gives a file what it has of the host's content at some checkpoints.
func (k *copier) fill(ino Ino, path string, inodes []*oldInode, origins []*oldOrigin) error {
	same := func(i, j int) bool {
		return origins[i] != nil && origins[j] != nil && origins[i].equal(origins[j]) && inodes[i].size == inodes[j].size && inodes[i].mode == inodes[j].mode
	}
	var f HostContent
	for lo := 0; lo < len(origins); lo++ {
		hi := lo
		if origins[lo] == nil || !inodes[lo].isFile() {
			continue
		}
		for hi+1 < len(origins) && same(lo, hi+1) {
			hi++
		}
		s, o := span{lo, hi}, origins[lo]
		lo = hi
		if o.limit == 0 {
			continue
		}
		if f == nil {
			var err error
			if f, err = k.host.Content(path); err != nil {
				return k.lost(path, hostError{err})
			}
			defer f.Close()
		}
		err := unchangedFrom(f, &o.Fingerprint)
		if err == nil {
			err = k.fillSpan(ino, s, f, o, inodes[hi].size)
		}
		if errors.As(err, new(hostError)) {
			err = k.lost(path, err)
		} else if err == nil {
			err = k.step(inodes[hi].size)
		}
		if err = k.pause(err); err != nil {
			return err
		}
	}
	return nil
}

// fillSpan is fill for checkpoints at which the file is as long, and has the same origin.
func (k *copier) fillSpan(ino Ino, s span, f HostContent, o *oldOrigin, length int64) error {
	own, err := k.chunks(ino)
	if err != nil {
		return err
	}
	size := k.w.store.chunkSize
	limit := min(o.limit, length)
	for index := int64(0); index*size < limit; index++ {
		for _, free := range own.missing(index, s) {
			if err := k.putContent(ino, index, free, f, limit, length); err != nil {
				return err
			}
		}
	}
	if err := unchangedFrom(f, &o.Fingerprint); err != nil {
		return err
	}
	filled := *o
	filled.limit = 0
	return k.putOriginRow(ino, s, &filled)
}

// lost notes that what the host has at a path could not be copied. An error of the database's stays one.
func (k *copier) lost(path string, err error) error {
	switch {
	case err == nil || !errors.As(err, new(hostError)):
		return err
	case Errno(err) == syscall.ENOENT || Errno(err) == syscall.ENOTDIR:
		return nil // nothing shows there
	}
	tree, err := k.w.tree(k.tree)
	if err == nil {
		err = k.w.noteReplaced(tree, path)
	}
	return err
}
