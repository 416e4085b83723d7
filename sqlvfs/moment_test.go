package sqlvfs

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var journeys = flag.Int("journeys", 8, "how many histories with checkpoints to go through")

// copyOf returns a copy of a tree that stays as it is.
func (n *node) copyOf() *node { return n.copyInto(map[*node]*node{}) }

func (n *node) copyInto(done map[*node]*node) *node {
	if c := done[n]; c != nil {
		return c
	}
	c := *n
	done[n] = &c
	c.data, c.xattrs, c.white = slices.Clone(n.data), maps.Clone(n.xattrs), maps.Clone(n.white)
	if n.kids != nil {
		c.kids = map[string]*node{}
		for name, kid := range n.kids {
			c.kids[name] = kid.copyInto(done)
		}
	}
	return &c
}

// journey is a random history of a database with checkpoints, going back and reopening.
type journey struct {
	path  string
	seed  uint64
	actor *actor
	trees map[int64]*node // by checkpoint
	log   []string
}

// Whatever is done to a tree, each checkpoint of it goes on to show what it was then, and the tree can be brought back to it.
func TestCheckpointsKeepWhatTheTreeWas(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range *journeys {
		j := &journey{path: filepath.Join(memoryDir(t), "a.db"), seed: seed + uint64(i), trees: map[int64]*node{}}
		if err := j.run(); err != nil {
			t.Fatalf("history %d of seed %d: %v\n%s", i, seed, err, strings.Join(j.log, "\n"))
		}
		must(t, os.Remove(j.path))
	}
}

func (j *journey) note(format string, args ...any) {
	j.log = append(j.log, fmt.Sprintf(format, args...))
}

func (j *journey) run() error {
	rnd := rand.New(rand.NewPCG(j.seed, 1))
	j.actor = &actor{rnd: rnd}
	if err := j.open(); err != nil {
		return err
	}
	root, err := readTree(j.actor.s)
	if err != nil {
		return err
	}
	j.actor.root = root
	for range 60 {
		if err := j.round(); err != nil {
			return err
		}
	}
	return j.end()
}

// round takes some steps, and does one thing about checkpoints.
func (j *journey) round() (err error) {
	rnd := j.actor.rnd
	for range rnd.IntN(12) {
		if err := j.actor.step(); err != nil {
			return err
		}
	}
	switch pick := rnd.IntN(10); {
	case pick < 5:
		err = j.checkpoint()
	case pick < 6:
		err = j.actor.s.Sync()
	case pick < 7:
		err = j.reopen(nil)
	case pick < 8:
		err = j.thin()
	case pick < 9:
		err = j.backOpen()
	default:
		err = j.reopen(j.back)
	}
	if err == nil && rnd.IntN(4) == 0 {
		err = j.compare(0.2)
	}
	return err
}

// end looks at all once more.
func (j *journey) end() error {
	if err := j.reopen(nil); err != nil {
		return err
	}
	if err := j.compare(1); err != nil {
		return err
	}
	if err := j.close(); err != nil {
		return err
	}
	return checkClean(j.path)
}

func (j *journey) open() (err error) {
	j.actor.s, err = Open(j.path, Options{Create: true, Root: rootAttr})
	return err
}

func (j *journey) close() error {
	for _, in := range j.actor.open {
		put(j.actor.s, in)
	}
	j.actor.open = nil
	if j.actor.rnd.IntN(2) == 0 {
		return j.actor.s.Close()
	}
	// As a process leaves it that is killed, after the files were closed; or with orphans, if they were not.
	if err := j.actor.s.Sync(); err != nil {
		return err
	}
	return j.actor.s.Close()
}

func (j *journey) reopen(then func() error) error {
	j.note("reopen")
	if err := j.close(); err != nil {
		return err
	}
	if err := j.open(); err != nil {
		return err
	}
	if then != nil {
		if err := then(); err != nil {
			return err
		}
	}
	return j.same()
}

// same compares the tree with the model's.
func (j *journey) same() error {
	got, err := readTree(j.actor.s)
	if err == nil && got.String() != j.actor.root.String() {
		err = fmt.Errorf("the tree is\n%sand should be\n%s", got, j.actor.root)
	}
	return err
}

func (j *journey) checkpoint() error {
	c, err := j.actor.s.Checkpoint(ByUser, "")
	if err != nil {
		return err
	}
	j.note("checkpoint %d of %x", c.ID, j.actor.root.sum())
	if was := j.trees[c.ID]; was != nil && was.sum() != j.actor.root.sum() {
		return fmt.Errorf("checkpoint %d was said to be the present, which has changed", c.ID)
	}
	j.trees[c.ID] = j.actor.root.copyOf()
	return nil
}

// back brings the tree back, in one of the ways to do so.
func (j *journey) back() error {
	s := j.actor.s
	before := j.actor.root.copyOf()
	var done Checkpoint
	var err error
	switch ids := slices.Sorted(maps.Keys(j.trees)); {
	case len(ids) == 0:
		return nil
	case j.actor.rnd.IntN(3) == 0:
		return j.backInPart(ids[j.actor.rnd.IntN(len(ids))])
	case j.actor.rnd.IntN(3) == 0:
		done, err = s.GoBack(Undo, nil)
	case j.actor.rnd.IntN(2) == 0:
		done, err = s.GoBack(Redo, nil)
	default:
		to := ids[j.actor.rnd.IntN(len(ids))]
		done, err = s.GoBack(To(fmt.Sprint(to)), nil)
		if err == nil && j.trees[to].sum() != j.treeOf(done).sum() {
			return fmt.Errorf("rewind %d led to checkpoint %d, of another tree", to, done.ID)
		}
	}
	if errors.Is(err, ErrNothingToUndo) || errors.Is(err, ErrNothingToRedo) {
		return nil
	}
	if err != nil {
		return err
	}
	j.note("back to %d as %d, redo leads to %d", done.Restored, done.ID, done.Redo)
	if _, known := j.trees[done.ID-1]; !known && done.Redo != 0 && done.Redo == done.ID-1 {
		j.trees[done.ID-1] = before
	}
	j.actor.root = j.treeOf(done).copyOf()
	j.trees[done.ID] = j.actor.root.copyOf()
	return nil
}

// backOpen brings the tree back a few times while files of it are open, some of which are closed in between.
func (j *journey) backOpen() error {
	for range 1 + j.actor.rnd.IntN(6) {
		for range j.actor.rnd.IntN(3) {
			if err := j.actor.hold(); err != nil {
				return err
			}
		}
		if err := j.back(); err != nil {
			return err
		}
		for range j.actor.rnd.IntN(6) {
			if err := j.actor.unnamed(); err != nil {
				return err
			}
		}
		if err := j.same(); err != nil {
			return err
		}
	}
	if err := j.actor.s.Sync(); err != nil {
		return err
	}
	return checkClean(j.path)
}

// thin drops checkpoints, and the rest stays as it was. The oldest go first, and those with a label last.
func (j *journey) thin() error {
	most := 1 + j.actor.rnd.IntN(6)
	if j.actor.rnd.IntN(2) == 0 {
		if _, err := j.actor.s.Checkpoint(ByUser, fmt.Sprintf("label %d", j.actor.now)); err != nil && !errors.Is(err, ErrLabelTaken) {
			return err
		}
	}
	before, err := j.actor.s.Checkpoints()
	if err != nil {
		return err
	}
	if len(before) > 0 && j.trees[before[0].ID] == nil { // the one with the label
		j.trees[before[0].ID] = j.actor.root.copyOf()
	}
	dropped, err := j.actor.s.Thin(Keep{Checkpoints: most})
	if err != nil {
		return err
	}
	after, err := j.actor.s.Checkpoints()
	if err != nil {
		return err
	}
	j.note("drop %d, and keep %d", dropped, len(after))
	forks, err := j.actor.s.Forks()
	if err != nil {
		return err
	}
	if len(after) > max(most, 1)+len(forks) || len(before)-len(after) != dropped || len(before) > 0 && after[0] != before[0] {
		return fmt.Errorf("of checkpoints %+v, %+v are left of at most %d", before, after, most)
	}
	maps.DeleteFunc(j.trees, func(id int64, _ *node) bool {
		return !slices.ContainsFunc(after, func(c Checkpoint) bool { return c.ID == id })
	})
	return nil
}

// treeOf is the model's tree of a checkpoint that was returned by going back.
func (j *journey) treeOf(c Checkpoint) *node {
	if c.Kind != AfterPart && c.Restored != 0 && j.trees[c.Restored] != nil {
		return j.trees[c.Restored]
	}
	return j.trees[c.ID]
}

// compare has a part of the checkpoints shown.
func (j *journey) compare(part float64) error {
	list, err := j.actor.s.Checkpoints()
	if err != nil {
		return err
	}
	if len(list) != len(j.trees) {
		return fmt.Errorf("there are %d checkpoints, not %d", len(list), len(j.trees))
	}
	for _, c := range list {
		if j.actor.rnd.Float64() >= part {
			continue
		}
		if err := showsAt(j.path, c.ID, j.trees[c.ID]); err != nil {
			return err
		}
	}
	return nil
}

// showsAt compares what a database shows at a checkpoint with a tree.
func showsAt(path string, id int64, want *node) error {
	s, err := Open(path, Options{At: fmt.Sprint(id)})
	if err != nil {
		return fmt.Errorf("at %d: %w", id, err)
	}
	defer s.Close()
	got, err := readTree(s)
	if err != nil {
		return fmt.Errorf("at %d: %w", id, err)
	}
	if got.String() != want.String() {
		return fmt.Errorf("at checkpoint %d the tree is\n%sand was\n%s", id, got, want)
	}
	snapshot, err := Query(s, (*Tx).Snapshot)
	if err != nil {
		return err
	}
	if len(snapshot.Unseen) > 0 {
		return fmt.Errorf("at checkpoint %d a snapshot has entries that cannot be: %+v", id, snapshot.Unseen)
	}
	return sameInSnapshot(snapshot, RootIno, want, map[Ino]bool{})
}

func sameInSnapshot(t *Snapshot, ino Ino, want *node, seen map[Ino]bool) error {
	n := t.Node(ino)
	switch {
	case n == nil:
		return fmt.Errorf("a snapshot has no inode %d", ino)
	case n.Attr != want.attr || n.Target != want.target || len(n.Children) != len(want.kids) || len(n.Whiteouts) != len(want.white) || len(n.Xattrs) != len(want.xattrs):
		return fmt.Errorf("inode %d of a snapshot is %+v, not %+v", ino, n, want)
	case seen[ino]:
		return nil
	}
	seen[ino] = true
	for name, kid := range want.kids {
		c := t.Child(n, name)
		if c == nil || c.Ino != kid.ino {
			return fmt.Errorf("%q in inode %d of a snapshot is %+v, not inode %d", name, ino, c, kid.ino)
		}
		if err := sameInSnapshot(t, kid.ino, kid, seen); err != nil {
			return err
		}
	}
	return nil
}

// What is done with checkpoints that nobody could do by chance.
func TestCheckpointLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openTest(t, path)
	mark := func(label string) Checkpoint {
		t.Helper()
		c, err := s.Checkpoint(ByUser, label)
		must(t, err)
		return c
	}
	first := mark("")
	if again := mark(""); again != first {
		t.Errorf("nothing has changed, and there is a checkpoint %+v after %+v", again, first)
	}
	if named := mark("before"); named.ID != first.ID || named.Label != "before" {
		t.Errorf("the newest checkpoint is %+v, and should have been named", named)
	}
	if second := mark("also before"); second.ID != first.ID+1 {
		t.Errorf("checkpoint %d has the label", second.ID)
	}
	if _, err := s.Checkpoint(ByUser, "before"); !errors.Is(err, ErrLabelTaken) {
		t.Errorf("got %v", err)
	}
	put(s, create(t, s, "after", syscall.S_IFREG|0o600))
	if _, err := s.Checkpoint(ByUser, "before"); !errors.Is(err, ErrLabelTaken) {
		t.Errorf("got %v", err)
	}
	for _, label := range []string{"17", "-1", "two\nlines", " x", "\xff", strings.Repeat("x", 201), "\x1b[0m", "@x", "a..b"} {
		if _, err := s.Checkpoint(ByUser, label); !errors.Is(err, ErrLabel) {
			t.Errorf("label %q: %v", label, err)
		}
	}
	if third := mark("after"); third.ID != first.ID+2 {
		t.Errorf("checkpoint %d", third.ID)
	}
	must(t, s.Close())
	for name, there := range map[string]bool{"before": false, "1": false, "also before": false, "after": true, "3": true, "@after": true, "@3": true, "@1": false} {
		s, err := Open(path, Options{At: name})
		must(t, err)
		children, err := Query(s, func(tx *Tx) ([]Child, error) { return tx.Children(tx.Root()) })
		if err != nil || len(children) > 0 != there {
			t.Errorf("at %s: %v, %v", name, children, err)
		}
		must(t, s.Close())
	}
	for _, name := range []string{"4", "0", "-1", "nowhere"} {
		if _, err := Open(path, Options{At: name}); !errors.Is(err, ErrNoCheckpoint) {
			t.Errorf("at %s: %v", name, err)
		}
	}
}

// A file that is read, and so has another access time, is not a change.
func TestReadingIsNoChange(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	in := create(t, s, "file", syscall.S_IFREG|0o600)
	first, err := s.Checkpoint(ByUser, "")
	must(t, err)
	set := func(change func(*Attr)) Checkpoint {
		t.Helper()
		step(s, func(tx *Tx) { change(&in.Attr); tx.Dirty(in) })
		c, err := s.Checkpoint(ByUser, "")
		must(t, err)
		return c
	}
	if c := set(func(a *Attr) { a.Atime = Now() }); c != first {
		t.Errorf("there is a new checkpoint %+v", c)
	}
	if c := set(func(a *Attr) { a.Mtime = Now() }); c.ID != first.ID+1 {
		t.Errorf("there is no new checkpoint, but %+v", c)
	}
}

// What is known of a file's origin by now is not a change of the file.
func TestHashIsNoChange(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "a.db"))
	defer s.Close()
	in := create(t, s, "file", syscall.S_IFREG|0o600)
	origin := Origin{Base: "ws", Path: "file", Number: uint64(MaxIno)}
	set := func(change func(*Origin)) Checkpoint {
		t.Helper()
		change(&origin)
		o := origin
		step(s, func(tx *Tx) { tx.SetOrigin(in, &o) })
		c, err := s.Checkpoint(ByUser, "")
		must(t, err)
		return c
	}
	first := set(func(*Origin) {})
	if c := set(func(o *Origin) { o.Hash = strings.Repeat("h", 32) }); c != first {
		t.Errorf("there is a new checkpoint %+v", c)
	}
	if c := set(func(o *Origin) { o.Number++ }); c.ID != first.ID+1 {
		t.Errorf("there is no new checkpoint, but %+v", c)
	}
}

// A checkpoint of a tree that has not changed is the newest one, and writes nothing.
func TestIdleCheckpointWritesNothing(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	put(s, create(t, s, "f", syscall.S_IFREG|0o600))
	first, err := s.Checkpoint(ByUser, "")
	must(t, err)
	before := bytesOf(t, path)
	for range 3 {
		c, err := s.Checkpoint(ByUser, "")
		must(t, err)
		if c.ID != first.ID {
			t.Errorf("there is a checkpoint %d after %d", c.ID, first.ID)
		}
	}
	if bytesOf(t, path) != before {
		t.Error("the database or its log has changed")
	}
	must(t, s.Close())
}
