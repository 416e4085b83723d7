package sqlvfs

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	families   = flag.Int("families", 40, "how many histories of forks, rewinds, merges and kills to go through")
	familySeed = flag.Uint64("family-seed", 0, "begin with this one, as a failure has named it")
)

// lineage is a database and forks of it, all of whose processes are killed at once, at any write: from then on the disk takes nothing. It
// is in memory, has small pages and few steps, so that there can be many.
type lineage struct {
	dir      string
	rnd      *rand.Rand
	disk     *disk
	tuning   tuning
	dead     atomic.Bool // the kill has come
	members  []*branch
	made     int
	all      bool // all is looked at, as one history in eight has it: most of the time goes into that
	torn     bool // merges take two steps
	sabotage func(*Store, *rand.Rand)
	log      []string
	did      map[string]int
}

// branch is one of the databases.
type branch struct {
	path   string
	parent *branch
	secret []byte
	a      *actor
	trees  map[int64]*node // by checkpoint
	may    []*node         // what a kill may leave: the trees since the last one that is durable
	thins  bool            // checkpoints are being dropped
}

// Whatever is done to a database and to forks of it, and at whatever write all are killed: each is afterwards what it was after one of its
// steps, and no earlier one than is durable; each checkpoint shows what it showed; and the check finds nothing.
func TestKilledForks(t *testing.T) {
	n := *families
	if testing.Short() {
		n = min(n, 20)
	}
	seed := *familySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	workers := uint64(runtime.GOMAXPROCS(0))
	for w := range workers {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			l := newLineage(t)
			for i := w; i < uint64(n); i += workers {
				if err := l.history(seed + i); err != nil {
					t.Fatalf("-family-seed %d: %v\n%s", seed+i, err, strings.Join(l.log, "\n"))
				}
			}
			t.Logf("%v", l.did)
		})
	}
}

// The same finds what does not keep the promise.
func TestKilledForksFindWhatIsWrong(t *testing.T) {
	for name, plant := range map[string]func(*lineage){
		"a merge in two steps":          func(l *lineage) { l.torn = true },
		"a history that is not kept":    func(l *lineage) { l.sabotage = forgetHistory },
		"a fork that hides nothing":     func(l *lineage) { l.sabotage = hideNothing },
		"too much of history dropped":   func(l *lineage) { l.sabotage = dropTooMuch },
		"a fork that the parent forgot": func(l *lineage) { l.sabotage = forgetForks },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLineage(t)
			plant(l)
			for i := range uint64(3000) {
				if err := l.history(1 + i); err != nil {
					line, _, _ := strings.Cut(err.Error(), "\n")
					t.Logf("found by history %d: %s", i, line)
					return
				}
			}
			t.Error("nothing was found")
		})
	}
}

func newLineage(t testing.TB) *lineage {
	l := &lineage{dir: memoryDir(t), tuning: defaults, did: map[string]int{}}
	var name string
	l.disk, name = newDisk(t, honest)
	l.tuning.query = "vfs=" + name
	l.tuning.linger, l.tuning.retry = 300*time.Microsecond, time.Millisecond
	l.disk.insert(t, l.dir, smallPages(t))
	return l
}

// history is a short one, from an empty database on.
func (l *lineage) history(seed uint64) (err error) {
	dir := l.dir
	template, err := os.ReadFile(filepath.Join(dir, "a.db"))
	if err != nil {
		return err
	}
	if l.dir, err = os.MkdirTemp(dir, "history"); err != nil {
		return err
	}
	l.rnd, l.members, l.log, l.made, l.all = rand.New(rand.NewPCG(seed, 1)), nil, nil, 0, seed%8 == 0
	defer func() {
		l.disk.failWith(nil)
		for _, b := range l.members {
			b.close()
		}
		os.RemoveAll(l.dir)
		l.dir = dir
		l.disk.forget()
	}()
	b := l.add(nil)
	if err := os.WriteFile(b.path, template, 0o600); err != nil {
		return err
	}
	if err := b.open(l); err != nil {
		return err
	}
	if b.a.root, err = readTree(b.a.s); err != nil {
		return err
	}
	b.durable()
	for range 6 + l.rnd.IntN(10) {
		if l.rnd.IntN(3) == 0 {
			l.arm()
		}
		b := l.members[l.rnd.IntN(len(l.members))]
		err := l.round(b)
		if l.dead.Load() {
			err = l.killed()
		} else {
			l.disk.failWith(nil)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(b.path), err)
		}
	}
	l.did["histories"]++
	return l.end()
}

func (l *lineage) note(b *branch, format string, args ...any) {
	l.log = append(l.log, filepath.Base(b.path)+": "+fmt.Sprintf(format, args...))
}

// arm has the kill come some writes from now.
func (l *lineage) arm() {
	left := l.rnd.IntN(20)
	l.disk.failWith(func(eventKind, int) error {
		if left--; left >= 0 {
			return nil
		}
		l.dead.Store(true)
		return &os.PathError{Op: "pwrite", Path: "database", Err: syscall.EIO}
	})
}

func (l *lineage) add(parent *branch) *branch {
	b := &branch{path: filepath.Join(l.dir, fmt.Sprintf("%d.db", l.made)), parent: parent, a: &actor{rnd: l.rnd}, trees: map[int64]*node{}}
	l.made++
	l.members = append(l.members, b)
	return b
}

func (b *branch) open(l *lineage) (err error) {
	b.a.s, err = openStore(b.path, Options{}, l.tuning)
	return err
}

// close ends a store, which after a kill has nothing to say.
func (b *branch) close() error {
	if b.a.s == nil {
		return nil
	}
	for _, in := range b.a.open {
		put(b.a.s, in)
	}
	b.a.open = nil
	err := b.a.s.Close()
	b.a.s = nil
	return err
}

// durable notes that what is now must not be lost.
func (b *branch) durable() { b.may = []*node{b.a.root.copyOf()} }

// round takes some steps, and does one thing more. The error of a database that is dead says nothing.
func (l *lineage) round(b *branch) error {
	for range l.rnd.IntN(8) {
		if err := b.a.step(); err != nil {
			return err
		}
		b.may = append(b.may, b.a.root.copyOf())
	}
	if l.sabotage != nil && !l.dead.Load() {
		l.sabotage(b.a.s, l.rnd)
	}
	ids := slices.Sorted(maps.Keys(b.trees))
	pick := l.rnd.IntN(20)
	switch {
	case pick < 5:
		return l.checkpoint(b)
	case pick < 9 && len(ids) > 0:
		return l.rewind(b, ids[l.rnd.IntN(len(ids))])
	case pick < 13 && len(l.members) < 3:
		return l.fork(b, ids)
	case pick < 16 && b.parent != nil:
		return l.merge(b)
	case pick < 17:
		return l.thin(b)
	case pick < 18 && b.parent != nil:
		return l.remove(b)
	}
	l.did["sync"]++
	l.note(b, "sync")
	err := b.a.s.Sync()
	if err == nil {
		b.durable()
	}
	return err
}

func (l *lineage) checkpoint(b *branch) error {
	l.did["checkpoint"]++
	c, err := b.a.s.Checkpoint(ByUser, "")
	if err != nil {
		return err
	}
	l.note(b, "checkpoint %d", c.ID)
	if was := b.trees[c.ID]; was != nil && was.String() != b.a.root.String() {
		return fmt.Errorf("checkpoint %d is said to be the present, which has changed", c.ID)
	}
	b.trees[c.ID] = b.a.root.copyOf()
	b.durable()
	return nil
}

func (l *lineage) rewind(b *branch, to int64) error {
	l.did["rewind"]++
	l.note(b, "rewind to %d", to)
	list, err := b.a.s.Checkpoints()
	if err != nil {
		return err
	}
	before := b.a.root
	b.may = append(b.may, b.trees[to])
	c, err := b.a.s.GoBack(To(fmt.Sprint(to)), nil)
	if err != nil {
		return err
	}
	b.a.root = b.trees[to].copyOf()
	if c.Redo == c.ID-1 && c.ID > list[0].ID+1 {
		b.trees[c.Redo] = before
	}
	b.trees[c.ID] = b.a.root.copyOf()
	b.durable()
	return nil
}

func (l *lineage) fork(of *branch, ids []int64) error {
	l.did["fork"]++
	at := ""
	if len(ids) > 0 && l.rnd.IntN(2) == 0 {
		at = fmt.Sprint(ids[l.rnd.IntN(len(ids))])
	}
	path, secret := filepath.Join(l.dir, fmt.Sprintf("%d.db", l.made)), NewSecret()
	c, err := of.a.s.AddFork(path, secret, at)
	if err != nil {
		return err
	}
	l.note(of, "fork of %d to %s", c.ID, filepath.Base(path))
	if at == "" {
		of.trees[c.ID] = of.a.root.copyOf()
		of.durable()
	}
	if err := MakeFork(of.path, path, secret, c); err != nil {
		return err
	}
	b := l.add(of)
	b.secret, b.a.root, b.a.now = secret, of.trees[c.ID].copyOf(), of.a.now
	b.durable()
	if err := b.open(l); err != nil {
		return fmt.Errorf("open the fork: %w", err)
	}
	return b.same()
}

// merge takes into the parent what a fork has of the files of both, and a new one.
func (l *lineage) merge(of *branch) error {
	l.did["merge"]++
	into := of.parent
	l.note(into, "merge of %s", filepath.Base(of.path))
	c, err := of.a.s.Checkpoint(ByUser, "")
	if err != nil {
		return err
	}
	of.trees[c.ID] = of.a.root.copyOf()
	of.durable()
	theirs, err := OpenMoment(of.path, "")
	if err != nil {
		return err
	}
	defer theirs.Close()
	_, _, top := theirs.Parent()
	taken := filesOf(of.a.root)
	into.a.root = into.a.root.copyOf()
	into.a.now++
	content := func(tx *Tx) error { return takeContents(tx, theirs, filesOf(into.a.root), taken) }
	names := func(tx *Tx) error {
		if err := into.a.takeNew(tx, theirs, taken, top); err != nil {
			return err
		}
		into.may = append(into.may, into.a.root.copyOf())
		return tx.SetMerged(of.secret, Merged{Checkpoint: c.ID})
	}
	if l.torn {
		if err = into.a.s.Merge(content); err == nil {
			err = into.a.s.Merge(names)
		}
	} else {
		err = into.a.s.Merge(func(tx *Tx) error { return errors.Join(content(tx), names(tx)) })
	}
	if err != nil {
		return err
	}
	into.durable()
	return nil
}

func (l *lineage) thin(b *branch) error {
	l.did["thin"]++
	most := 1 + l.rnd.IntN(4)
	l.note(b, "keep %d", most)
	b.thins = true
	if _, err := b.a.s.Thin(Keep{Checkpoints: most}); err != nil {
		return err
	}
	return b.checkpoints()
}

// remove removes a fork that is no parent, and has its parent forget it.
func (l *lineage) remove(b *branch) error {
	if slices.ContainsFunc(l.members, func(m *branch) bool { return m.parent == b }) {
		return nil
	}
	l.did["remove"]++
	l.note(b, "remove")
	l.members = slices.DeleteFunc(l.members, func(m *branch) bool { return m == b })
	_ = b.close()
	if err := os.Remove(b.path); err != nil {
		return err
	}
	b.parent.thins = true // the checkpoint that was made for it goes, too
	if err := b.parent.a.s.DropFork(b.secret); err != nil {
		return err
	}
	return b.parent.checkpoints()
}

// killed has all that are dead come back.
func (l *lineage) killed() error {
	l.did["kill"]++
	for _, b := range l.members {
		_ = b.close()
	}
	l.disk.failWith(nil)
	l.dead.Store(false)
	for _, b := range l.members {
		l.note(b, "killed")
		if err := b.back(l); err != nil {
			return fmt.Errorf("after a kill: %s: %w", filepath.Base(b.path), err)
		}
	}
	return nil
}

// back opens a database that was killed, and finds what is left of it.
func (b *branch) back(l *lineage) error {
	if l.all {
		if err := checkClean(b.path); err != nil {
			return fmt.Errorf("before it is opened: %w", err)
		}
	}
	if err := b.open(l); err != nil {
		return err
	}
	got, err := readTree(b.a.s)
	if err != nil {
		return err
	}
	is := slices.IndexFunc(b.may, func(n *node) bool { return n.String() == got.String() })
	if is < 0 {
		return fmt.Errorf("the tree is that of no step since what is durable:\n%s", got)
	}
	if err := b.checkpoints(); err != nil {
		return err
	}
	b.a.root = b.may[is].copyOf()
	b.durable()
	forks, err := b.a.s.Forks()
	for _, f := range forks { // one that was about to be made is forgotten, as art does
		if _, serr := os.Stat(f.Path); err == nil && errors.Is(serr, os.ErrNotExist) {
			b.thins = true
			err = b.a.s.DropFork(f.Secret)
		}
	}
	if err == nil {
		err = b.checkpoints()
	}
	return err
}

// checkpoints compares which there are: none is missing unless they were being dropped, and one that was not answered shows a tree that
// was.
func (b *branch) checkpoints() error {
	list, err := b.a.s.Checkpoints()
	if err != nil {
		return err
	}
	there := map[int64]bool{}
	for _, c := range list {
		there[c.ID] = true
		if b.trees[c.ID] != nil {
			continue
		}
		root, err := treeAt(b.path, c.ID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(b.may, func(n *node) bool { return n.String() == root.String() }) {
			return fmt.Errorf("checkpoint %d, which nobody was told of, is of no step:\n%s", c.ID, root)
		}
		b.trees[c.ID] = root
	}
	for id := range b.trees {
		if !there[id] && !b.thins {
			return fmt.Errorf("checkpoint %d is not there", id)
		}
	}
	b.thins = false
	maps.DeleteFunc(b.trees, func(id int64, _ *node) bool { return !there[id] })
	return nil
}

func (b *branch) same() error {
	got, err := readTree(b.a.s)
	if err == nil && got.String() != b.a.root.String() {
		err = fmt.Errorf("the tree is\n%sand should be\n%s", got, b.a.root)
	}
	return err
}

// end looks at what there is: checks one database, and compares one checkpoint of it, or all.
func (l *lineage) end() error {
	only := l.rnd.IntN(len(l.members))
	for i, b := range l.members {
		err := b.same()
		if err == nil {
			err = b.checkpoints()
		}
		if err == nil {
			err = b.close()
		}
		if err == nil && (l.all || i == only) {
			err = l.look(b)
		}
		if err != nil {
			return fmt.Errorf("at the end: %s: %w", filepath.Base(b.path), err)
		}
	}
	return nil
}

func (l *lineage) look(b *branch) error {
	if err := checkClean(b.path); err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(b.trees))
	if !l.all && len(ids) > 1 {
		ids = []int64{ids[l.rnd.IntN(len(ids))]}
	}
	for _, id := range ids {
		l.did["checkpoints compared"]++
		if err := showsAt(b.path, id, b.trees[id]); err != nil {
			return err
		}
	}
	l.did["databases checked"]++
	return nil
}
