package sqlvfs

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/fsck"
	"github.com/riverlytech/art/sqlvfs/internal/database"
)

var cuts = flag.Int("cuts", 1500, "how many power cuts to simulate, of each kind")

// Each life of a database is a random history, with calls of Sync from several goroutines, on a disk
// that remembers. The power is cut at random moments of it. After each: the database opens, nothing
// is wrong with it, what was promised to be durable is there, and the tree is exactly what it was
// after one of the steps. One of the cuts is where the next life begins.
func TestPowerCuts(t *testing.T) { cutThePower(t, *cuts, false) }

// The same on a disk that now and then takes nothing, is full, or loses what it should have synced.
func TestPowerCutsOfAFailingDisk(t *testing.T) { cutThePower(t, *cuts/2, true) }

// A few of them for the race detector, under which SQLite takes fifteen times as long.
func TestCutsForTheRaceDetector(t *testing.T) { cutThePower(t, 30, true) }

func cutThePower(t *testing.T, cuts int, failing bool) {
	if testing.Short() {
		cuts = min(cuts, 200)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	workers := runtime.GOMAXPROCS(0)
	for i := range workers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h := newHistories(t, seed+uint64(i), honest)
			h.failing = failing
			if err := h.run(cuts / workers); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d cuts of %d lives with %d steps, %d of them durable, %d merges, and %d writes to disk; %d failed",
				h.cuts, h.lives, h.steps, h.durable, h.merges, h.writes, h.failures.Load())
		})
	}
}

// The same finds a disk or a writer that does not keep the promise.
func TestPowerCutsFindWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		plant    plant
		sabotage func(*Store, *rand.Rand)
		from     int  // the life to begin with
		torn     bool // merges take two steps
	}{
		"a log that is not synced":      {plant: forgetsLog},
		"a database that is not synced": {plant: forgetsDatabase},
		"names that are not synced":     {plant: forgetsNames},
		"changes out of order":          {sabotage: delayOne},
		"a history that is not kept":    {sabotage: forgetHistory},
		"too much of history dropped":   {sabotage: dropTooMuch},
		"forks that are forgotten":      {sabotage: forgetForks},
		"a fork that hides nothing":     {sabotage: hideNothing, from: firstFork},
		"a merge in two steps":          {torn: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistories(t, 1, c.plant)
			h.sabotage, h.lives, h.torn = c.sabotage, c.from, c.torn
			err := h.run(20_000)
			if err == nil {
				t.Fatalf("nothing was found in %d cuts", h.cuts)
			}
			t.Logf("found after %d cuts: %v", h.cuts, err)
		})
	}
}

// forgetHistory has the writer take all inodes for newer than the newest checkpoint.
func forgetHistory(s *Store, _ *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquireWriter()
	s.writer.newest.maxIno = RootIno
	s.releaseWriter()
}

// dropTooMuch drops the oldest checkpoint, and rows of the next one with it.
func dropTooMuch(s *Store, _ *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquireWriter()
	defer s.releaseWriter()
	if w := s.writer; w.conn != nil {
		_ = w.transact(func() error {
			return w.Exec("DELETE FROM art_old_inode WHERE checkpoint<=(SELECT id FROM art_checkpoint ORDER BY id LIMIT 1 OFFSET 1)")
		})
	}
}

// delayOne puts a change that waits to be committed off until after the next transaction.
func delayOne(s *Store, rnd *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, ino := range s.tx.gather.dentries {
		b := s.tx.gather
		delete(b.dentries, k)
		k.dir.refs++
		go func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			for s.tx.gather == b || s.tx.inflight == b {
				s.done.Wait()
			}
			if _, ok := s.tx.gather.dentries[k]; !ok {
				s.tx.touch(k.dir, 0)
				s.tx.gather.dentries[k] = ino
			}
			s.tx.Put(k.dir)
		}()
		return
	}
}

// histories are lives of a database, one after the other.
type histories struct {
	t        *testing.T
	rnd      *rand.Rand
	disk     *disk
	tuning   tuning
	dir      string // for everything that is on a disk
	failing  bool   // so is the disk
	sabotage func(*Store, *rand.Rand)
	torn     bool // merges take two steps

	thins  bool  // this life drops checkpoints by itself
	img    image // what the next life begins with
	root   *node
	states []uint64        // of the tree after each step of this life
	trees  map[int64]*node // by checkpoint
	forks  map[string]forked
	made   map[int64]int  // the step after which this life has made a checkpoint
	asked  map[int64]bool // which of them the user has asked for: a full disk takes none of these

	cuts, lives, steps, durable, writes, merges int
	failures                                    atomic.Int64
}

func newHistories(t *testing.T, seed uint64, p plant) *histories {
	h := &histories{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), tuning: defaults, dir: memoryDir(t), trees: map[int64]*node{}, forks: map[string]forked{}}
	h.disk, h.tuning.query = newDisk(t, p)
	h.tuning.query = "vfs=" + h.tuning.query
	h.tuning.linger, h.tuning.retry, h.tuning.logLimit, h.tuning.logMost = 300*time.Microsecond, time.Millisecond, 200_000, 400_000
	return h
}

// memoryDir is a temporary directory whose files are in memory, where there are such.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "art-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// firstFork is the first life that begins as that of a fork.
const firstFork = 12

// run has the database live until there were so many cuts.
func (h *histories) run(cuts int) error {
	for ; h.cuts < cuts; h.lives++ {
		if h.lives%6 == 0 {
			h.img, h.root = nil, nil
			clear(h.trees)
			clear(h.forks)
			switch h.lives % 18 {
			case 6:
				h.img = smallPages(h.t)
			case firstFork:
				var err error
				if h.img, err = h.forkImage(); err != nil {
					return fmt.Errorf("life %d: make a fork: %w", h.lives, err)
				}
			}
		}
		if err := h.live(); err != nil {
			return fmt.Errorf("life %d: %w", h.lives, err)
		}
	}
	return nil
}

// smallPages is an empty database with the smallest pages and chunks, as another tool may make it:
// much of what happens then happens on few pages.
var smallPages = func() func(t testing.TB) image {
	var once sync.Once
	var data []byte
	return func(t testing.TB) image {
		once.Do(func() {
			path := filepath.Join(memoryDir(t), "a.db")
			c, err := sqlite3.Open(path)
			must(t, err)
			must(t, c.Exec("PRAGMA page_size=512; PRAGMA journal_mode=WAL;"+database.FormatTables+
				"INSERT INTO fs_config VALUES ('chunk_size', '512')"))
			must(t, c.Close())
			must(t, openTest(t, path).Close())
			data, err = os.ReadFile(path)
			must(t, err)
		})
		return image{"a.db": data}
	}
}()

// live has the database live once, and cuts the power.
func (h *histories) live() error {
	dir := filepath.Join(h.dir, "life")
	must(h.t, os.Mkdir(dir, 0o700))
	defer os.RemoveAll(dir)
	h.disk.insert(h.t, dir, h.img)
	began := maps.Clone(h.disk.names)
	if err := h.history(filepath.Join(dir, "a.db")); err != nil {
		return err
	}
	events := h.disk.events
	h.steps += len(h.states) - 1
	moments := make([]int, 40)
	for i := range moments {
		moments[i] = h.rnd.IntN(len(events) + 1)
	}
	slices.Sort(moments)
	next := h.rnd.IntN(len(moments))
	p, played := newPlatter(h.img, began), 0
	for i, moment := range moments {
		for ; played < moment; played++ {
			p.play(events[played], h.rnd)
			switch events[played].kind {
			case wrote:
				h.writes++
			case guaranteed:
				h.durable++
			}
		}
		img := p.cut(h.rnd)
		root, err := h.verify(img, p.kept, p.began)
		if err != nil {
			return fmt.Errorf("cut %d, after event %d of %d: %w", h.cuts, moment, len(events), err)
		}
		h.cuts++
		if i == next {
			h.img, h.root = img, root
		}
	}
	return nil
}

// history is a random one. Steps follow one another; calls of Sync come in between.
func (h *histories) history(path string) error {
	how := Options{Create: true, Root: rootAttr}
	if h.thins = h.rnd.IntN(2) == 0; h.thins { // it makes checkpoints by itself, and drops them at its end
		how.Checkpoint, how.Every, how.Keep = AtSession, time.Duration(1+h.rnd.IntN(20))*time.Millisecond, Keep{Checkpoints: 5 + h.rnd.IntN(10)}
	}
	s, err := openStore(path, how, h.tuning)
	if err != nil {
		return err
	}
	if h.root == nil {
		h.root = &node{ino: RootIno, attr: rootAttr, kids: map[string]*node{}, white: map[string]bool{}, xattrs: map[string]string{}}
		if h.root, err = readTree(s); err != nil {
			return err
		}
	}
	a := &actor{s: s, rnd: h.rnd, root: h.root, now: int64(h.lives) * 1000}
	h.states, h.made, h.asked = []uint64{a.root.sum()}, map[int64]int{}, map[int64]bool{}
	list, err := s.Checkpoints()
	if err != nil {
		return err
	}
	maps.DeleteFunc(h.trees, func(id int64, _ *node) bool { // those that the cut took
		return !slices.ContainsFunc(list, func(c Checkpoint) bool { return c.ID == id })
	})
	for _, c := range list { // what the writer has made by itself was looked at then
		if h.trees[c.ID] == nil {
			if h.trees[c.ID], err = treeAt(path, c.ID); err != nil {
				return err
			}
		}
	}
	if err := h.forksLeft(s); err != nil {
		return err
	}
	if !h.failing && h.rnd.IntN(2) == 0 {
		if err := h.rewind(a); err != nil {
			return err
		}
	}
	var mu sync.Mutex // orders the steps, and the looks at how many there are
	stop := make(chan struct{})
	errs := make(chan error, 3)
	for i := range cap(errs) {
		rnd := rand.New(rand.NewPCG(h.rnd.Uint64(), uint64(i)))
		go func() {
			for {
				select {
				case <-stop:
					errs <- nil
					return
				case <-time.After(time.Duration(rnd.IntN(2000)) * time.Microsecond):
				}
				mu.Lock()
				step := len(h.states) - 1
				mu.Unlock()
				switch err := s.Sync(); {
				case err == nil:
					h.disk.mark(guaranteed, step)
				case !h.failing:
					errs <- err
					return
				}
			}
		}()
	}
	if h.failing {
		h.disk.failWith(h.bursts())
	}
	for range 100 + h.rnd.IntN(200) {
		mu.Lock()
		h.disk.mark(began, len(h.states))
		err = a.step()
		h.states = append(h.states, a.root.sum())
		if err == nil && h.rnd.IntN(25) == 0 {
			err = h.checkpoint(a)
		}
		if err == nil && !h.failing && h.rnd.IntN(60) == 0 {
			err = h.merge(a)
		}
		mu.Unlock()
		if err != nil && !h.failing {
			break
		}
		if h.sabotage != nil && h.rnd.IntN(20) == 0 {
			h.sabotage(s, h.rnd)
		}
		if h.rnd.IntN(30) == 0 {
			time.Sleep(time.Duration(h.rnd.IntN(1000)) * time.Microsecond)
		}
	}
	close(stop)
	h.disk.failWith(nil)
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	if h.failing {
		err = recovers(s)
	}
	for _, in := range a.open {
		put(s, in)
	}
	if cerr := s.Close(); cerr == nil && err == nil {
		h.disk.mark(guaranteed, len(h.states)-1)
	} else {
		err = errors.Join(err, cerr)
	}
	return err
}

// checkpoint makes one, which is durable.
func (h *histories) checkpoint(a *actor) error {
	c, err := a.s.Checkpoint(ByUser, "")
	if err != nil {
		if h.failing {
			err = nil
		}
		return err
	}
	h.keep(c.ID, a.root)
	if c.Kind == ByUser { // and not one that was there already
		h.asked[c.ID] = true
	}
	h.disk.mark(guaranteed, len(h.states)-1)
	if h.rnd.IntN(3) == 0 {
		if err := h.fork(a); err != nil {
			return err
		}
	}
	if h.rnd.IntN(3) > 0 {
		return nil
	}
	if _, err := a.s.Thin(Keep{Checkpoints: 1 + h.rnd.IntN(4)}); err != nil {
		if h.failing {
			err = nil
		}
		return err
	}
	return h.dropped(a)
}

// dropped forgets the checkpoints that were dropped. They may come back.
func (h *histories) dropped(a *actor) error {
	list, err := a.s.Checkpoints()
	maps.DeleteFunc(h.made, func(id int64, _ int) bool {
		return !slices.ContainsFunc(list, func(c Checkpoint) bool { return c.ID == id })
	})
	return err
}

// keep remembers what the tree is at a checkpoint, which may be one that was made before.
func (h *histories) keep(id int64, root *node) {
	if _, ok := h.made[id]; !ok {
		h.made[id] = len(h.states) - 1
	}
	h.trees[id] = root.copyOf()
}

// rewind brings the tree back to a checkpoint, if there is one.
func (h *histories) rewind(a *actor) error {
	list, err := a.s.Checkpoints()
	if err != nil || len(list) == 0 {
		return err
	}
	to := list[h.rnd.IntN(len(list))].ID
	before := a.root
	h.disk.mark(began, len(h.states))
	c, err := a.s.GoBack(To(fmt.Sprint(to)), nil)
	if err != nil {
		return err
	}
	a.root = h.trees[to].copyOf()
	h.states = append(h.states, a.root.sum())
	if c.Redo == c.ID-1 && c.ID > list[0].ID+1 {
		h.keep(c.Redo, before)
	}
	h.keep(c.ID, a.root)
	h.disk.mark(guaranteed, len(h.states)-1)
	return nil
}

// checkpointsAre looks at the checkpoints that a cut has left: those that were answered when a step was durable are there, and they are
// what they were.
func (h *histories) checkpointsAre(path string, durable int) error {
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	list, err := s.Checkpoints()
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	held, err := h.forksAre(path, durable)
	if err != nil {
		return err
	}
	there := map[int64]bool{}
	for _, c := range list {
		there[c.ID] = true
		if h.rnd.IntN(6) > 0 {
			continue
		}
		if want := h.trees[c.ID]; want != nil {
			if err := showsAt(path, c.ID, want); err != nil {
				return err
			}
			continue
		}
		root, err := treeAt(path, c.ID)
		if err != nil {
			return err
		}
		if !slices.Contains(h.states, root.sum()) {
			return fmt.Errorf("checkpoint %d, which was made by itself (%s), is of no step:\n%s", c.ID, c.Kind, root)
		}
	}
	oldest := int64(math.MaxInt64) // nothing was dropped that is not older than all that are there, but for those of forks
	for id := range there {
		if !held[id] {
			oldest = min(oldest, id)
		}
	}
	for id, step := range h.made {
		gaveWay := h.failing && !h.asked[id] // to what there was no room for
		if step < durable && !there[id] && !gaveWay && !((h.failing || h.thins) && id < oldest) {
			return fmt.Errorf("checkpoint %d was answered before step %d was durable, and is not there", id, durable)
		}
	}
	return nil
}

// treeAt reads the tree that a database shows at a checkpoint.
func treeAt(path string, id int64) (*node, error) {
	s, err := Open(path, Options{At: fmt.Sprint(id)})
	if err != nil {
		return nil, fmt.Errorf("at %d: %w", id, err)
	}
	root, err := readTree(s)
	return root, errors.Join(err, s.Close())
}

// bursts makes a disk refuse some changes in a row now and then.
func (h *histories) bursts() func(eventKind, int) error {
	rnd := rand.New(rand.NewPCG(h.rnd.Uint64(), 2))
	good, bad := 100, 0
	errno := syscall.EIO
	return func(eventKind, int) error {
		switch {
		case good > 0:
			if good--; good == 0 {
				bad = 1 + rnd.IntN(20)
				errno = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}[rnd.IntN(4)]
			}
			return nil
		case rnd.IntN(3) > 0:
			if bad--; bad == 0 {
				good = rnd.IntN(200)
			}
			h.failures.Add(1)
			return errno
		}
		return nil
	}
}

// recovers waits until the store goes on, now that its disk does.
func recovers(s *Store) (err error) {
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
		if err = s.Sync(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the disk is well again, but not the store: %w", err)
}

// verify opens what a cut has left and returns the tree in it. The tree must be that of a step from
// first to last.
func (h *histories) verify(img image, first, last int) (*node, error) {
	dir := filepath.Join(h.dir, "cut")
	must(h.t, os.Mkdir(dir, 0o700))
	defer os.RemoveAll(dir)
	for name, data := range img {
		must(h.t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	path := filepath.Join(dir, "a.db")
	if first > 0 && h.rnd.IntN(8) == 0 {
		if err := checkClean(path); err != nil {
			return nil, fmt.Errorf("before it is opened: %w", err)
		}
	}
	s, err := Open(path, Options{Create: true, Root: rootAttr})
	if err != nil {
		return nil, err
	}
	root, err := readTree(s)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if err := checkClean(path); err != nil {
		return nil, err
	}
	if err := h.checkpointsAre(path, first); err != nil {
		return nil, err
	}
	sum := root.sum()
	for step := last; step >= first; step-- {
		if h.states[step] == sum {
			return root, nil
		}
	}
	if step := slices.Index(h.states, sum); step >= 0 {
		return nil, fmt.Errorf("step %d was durable, and the tree is that of step %d", first, step)
	}
	return nil, fmt.Errorf("the tree is that of no step from %d to %d:\n%s", first, last, root)
}

// checkClean checks a database.
func checkClean(path string) error {
	findings, err := fsck.Check(path)
	for _, f := range findings {
		err = errors.Join(err, fmt.Errorf("check: inode %d: %s", f.Ino, f.Text))
	}
	return err
}
