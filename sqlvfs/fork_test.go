package sqlvfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// family are a database and forks of it, of which each goes on by itself.
type family struct {
	dir     string
	rnd     *rand.Rand
	members []*journey
	left    map[*journey]int // how many forks it may lie above
}

// Whatever is done to a database and to its forks, each is what was done to it alone.
func TestForksGoOnByThemselves(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range max(1, *journeys/2) {
		rnd := rand.New(rand.NewPCG(seed+uint64(i), 1))
		f := &family{dir: memoryDir(t), rnd: rnd, left: map[*journey]int{}}
		if err := f.run(); err != nil {
			var log []string
			for _, j := range f.members {
				log = append(log, j.path+":\n"+strings.Join(j.log, "\n"))
			}
			t.Fatalf("family %d of seed %d: %v\n%s", i, seed, err, strings.Join(log, "\n"))
		}
	}
}

func (f *family) run() error {
	first := &journey{path: filepath.Join(f.dir, "0.db"), trees: map[int64]*node{}, actor: &actor{rnd: f.rnd}}
	f.members = []*journey{first}
	if err := first.open(); err != nil {
		return err
	}
	root, err := readTree(first.actor.s)
	if err != nil {
		return err
	}
	first.actor.root = root
	for range 60 {
		j := f.members[f.rnd.IntN(len(f.members))]
		if len(f.members) < 5 && f.rnd.IntN(8) == 0 {
			if err := f.fork(j); err != nil {
				return fmt.Errorf("%s: fork: %w", j.path, err)
			}
			continue
		}
		if err := j.round(); err != nil {
			return fmt.Errorf("%s: %w", j.path, err)
		}
	}
	for _, j := range f.members {
		if err := j.end(); err != nil {
			return fmt.Errorf("%s: %w", j.path, err)
		}
	}
	for _, j := range f.members {
		if err := j.copied(); err != nil {
			return fmt.Errorf("copy of %s: %w", j.path, err)
		}
	}
	return nil
}

// copied makes a copy, which stands for itself and shows the same, now and at all checkpoints.
func (j *journey) copied() error {
	file := j.path + ".copy"
	if err := Backup(context.Background(), j.path, file, func(int64) {}); err != nil {
		return err
	}
	if parent, _, err := ForkOf(file); err != nil || parent != "" {
		return fmt.Errorf("it is a fork of %q (%v)", parent, err)
	}
	if err := checkClean(file); err != nil {
		return err
	}
	s, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := readTree(s)
	if err == nil && got.String() != j.actor.root.String() {
		err = fmt.Errorf("the tree is\n%sand should be\n%s", got, j.actor.root)
	}
	for id, want := range j.trees {
		if err == nil {
			err = showsAt(file, id, want)
		}
	}
	return err
}

// fork makes a fork of a member, of the present or of a checkpoint.
func (f *family) fork(of *journey) error {
	at := ""
	if ids := slices.Sorted(maps.Keys(of.trees)); len(ids) > 0 && f.rnd.IntN(2) == 0 {
		at = fmt.Sprint(ids[f.rnd.IntN(len(ids))])
	}
	j := &journey{path: filepath.Join(f.dir, fmt.Sprintf("%d.db", len(f.members))), trees: map[int64]*node{}}
	secret := NewSecret()
	c, err := of.actor.s.AddFork(j.path, secret, at)
	if err != nil {
		return err
	}
	if at == "" {
		of.trees[c.ID] = of.actor.root.copyOf()
	}
	if err := MakeFork(of.path, j.path, secret, c); err != nil {
		return err
	}
	of.note("forked at %d to %s", c.ID, j.path)
	j.actor = &actor{rnd: f.rnd, root: of.trees[c.ID].copyOf(), now: of.actor.now}
	f.members = append(f.members, j)
	if err := j.open(); err != nil {
		return err
	}
	got, err := readTree(j.actor.s)
	if err == nil && got.String() != j.actor.root.String() {
		err = fmt.Errorf("the fork is\n%sand should be\n%s", got, j.actor.root)
	}
	return err
}

// forkOf makes a database with a file, and a fork of it.
func forkOf(t *testing.T) (parent, fork string, secret []byte) {
	t.Helper()
	dir := t.TempDir()
	parent, fork, secret = filepath.Join(dir, "parent.db"), filepath.Join(dir, "fork.db"), NewSecret()
	s, err := Open(parent, Options{Create: true, Root: rootAttr})
	must(t, err)
	put(s, create(t, s, "file", 0o644))
	c, err := s.AddFork(fork, secret, "")
	must(t, err)
	must(t, MakeFork(parent, fork, secret, c))
	must(t, s.Close())
	return parent, fork, secret
}

// The checkpoint that was made for forks goes with the last of them, unless somebody else needs it.
func TestForksTakeTheirCheckpointAlong(t *testing.T) {
	for name, c := range map[string]struct {
		keep  bool
		needs func(s *Store, id int64) error // somebody needs it
		stays bool
	}{
		"nobody":    {},
		"keep":      {keep: true, stays: true},
		"label":     {needs: func(s *Store, _ int64) error { _, err := s.Checkpoint(ByUser, "label"); return err }, stays: true},
		"asked for": {needs: func(s *Store, _ int64) error { _, err := s.Checkpoint(ByUser, ""); return err }, stays: true},
		"a session": {needs: func(s *Store, _ int64) error { _, err := s.Checkpoint(AtSession, ""); return err }, stays: true},
		"brought": {needs: func(s *Store, id int64) error {
			return changeAnd(s, func() error { _, err := s.GoBack(To(fmt.Sprint(id)), nil); return err })
		}, stays: true},
		"not newest": {needs: func(s *Store, _ int64) error {
			return changeAnd(s, func() error { _, err := s.Checkpoint(ByUser, ""); return err })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			parent := filepath.Join(dir, "parent.db")
			s, err := Open(parent, Options{Create: true, Root: rootAttr})
			must(t, err)
			defer s.Close()
			put(s, create(t, s, "one", 0o100644))
			first, err := s.Checkpoint(ByUser, "")
			must(t, err)
			was := shownAt(t, s, parent, first.ID)
			put(s, create(t, s, "two", 0o100644))
			var list []ForkToBe
			for i := range 2 {
				list = append(list, ForkToBe{filepath.Join(dir, fmt.Sprintf("%d.db", i)), NewSecret()})
			}
			made, err := s.AddForks(list, "")
			must(t, err)
			if c.needs != nil {
				must(t, c.needs(s, made.ID))
			}
			has := func() bool {
				t.Helper()
				all, err := s.Checkpoints()
				must(t, err)
				return slices.ContainsFunc(all, func(c Checkpoint) bool { return c.ID == made.ID })
			}
			must(t, s.DropForks([][]byte{list[0].Secret}, c.keep))
			if !has() {
				t.Error("it is gone with the first of two")
			}
			must(t, s.DropForks([][]byte{list[1].Secret}, c.keep))
			if has() != c.stays {
				t.Errorf("it stays: %t", has())
			}
			put(s, create(t, s, "three", 0o100644))
			last, err := s.Checkpoint(ByUser, "")
			must(t, err)
			if last.ID <= made.ID {
				t.Errorf("checkpoint %d comes after %d", last.ID, made.ID)
			}
			if is := shownAt(t, s, parent, first.ID); is != was {
				t.Errorf("the first checkpoint shows\n%sand was\n%s", is, was)
			}
		})
	}
}

// changeAnd changes the tree before something.
func changeAnd(s *Store, do func() error) error {
	err := s.Update(func(tx *Tx) error { tx.Root().Attr.Mode ^= 0o1; tx.Dirty(tx.Root()); return nil })
	if err == nil {
		err = do()
	}
	return err
}

// shownAt is what a checkpoint shows.
func shownAt(t *testing.T, s *Store, path string, id int64) string {
	t.Helper()
	must(t, s.Sync())
	at, err := Open(path, Options{ReadOnly: true, At: fmt.Sprint(id)})
	must(t, err)
	defer at.Close()
	tree, err := readTree(at)
	must(t, err)
	return tree.String()
}

// A fork reads what was agreed on from the checkpoint that it is of, so that is one of what is agreed on now.
func TestForkKnowsWhatIsAgreedOn(t *testing.T) {
	parent, fork, _ := forkOf(t)
	s, err := Open(parent, Options{})
	must(t, err)
	defer s.Close()
	tree := Tree{Name: "ws"}
	must(t, s.Update(func(tx *Tx) error {
		tx.SetBaseline(tree, "file", &Baseline{Mode: 0o100644})
		return nil
	}))
	path, secret := fork+".2", NewSecret()
	c, err := s.AddFork(path, secret, "")
	must(t, err)
	must(t, MakeFork(parent, path, secret, c))
	f, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	defer f.Close()
	list, err := Query(f, func(tx *Tx) (map[string]*Baseline, error) { return tx.Baselines(tree) })
	if err != nil || list["file"] == nil {
		t.Errorf("agreed on: %v, %v", list, err)
	}
}

// What forks need costs nothing where there are none.
func TestOnlyForksHaveTheirTables(t *testing.T) {
	tables := func(path string) string {
		t.Helper()
		return dump(t, path, "(SELECT name FROM sqlite_schema WHERE type='table' AND name IN ('art_fork', 'art_parent', 'art_hidden') ORDER BY name)")
	}
	plain := filepath.Join(t.TempDir(), "plain.db")
	s, err := Open(plain, Options{Create: true, Root: rootAttr})
	must(t, err)
	if list, err := s.Forks(); err != nil || len(list) != 0 {
		t.Errorf("forks: %v, %v", list, err)
	}
	must(t, s.DropFork(NewSecret()))
	must(t, s.Close())
	none := tables(plain)
	parent, fork, _ := forkOf(t)
	file := fork + ".copy"
	must(t, Backup(context.Background(), fork, file, func(int64) {}))
	of, from, copied := tables(parent), tables(fork), tables(file)
	if none != copied || !strings.Contains(of, "art_fork") || strings.Contains(of, "art_parent") ||
		strings.Contains(from, "art_fork") || !strings.Contains(from, "art_hidden") || !strings.Contains(from, "art_parent") {
		t.Errorf("there is %q without forks, %q in the parent, %q in the fork, and %q in its copy", none, of, from, copied)
	}
}

// A fork whose parent is not what it was is refused, and nothing is changed.
func TestForkWithoutItsParent(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, parent, fork string, secret []byte){
		"gone":   func(t *testing.T, parent, _ string, _ []byte) { must(t, os.Remove(parent)) },
		"moved":  func(t *testing.T, parent, _ string, _ []byte) { must(t, os.Rename(parent, parent+".old")) },
		"short":  func(t *testing.T, parent, _ string, _ []byte) { must(t, os.Truncate(parent, 100)) },
		"no art": func(t *testing.T, parent, _ string, _ []byte) { must(t, os.WriteFile(parent, []byte("text"), 0o600)) },
		"forgot": func(t *testing.T, parent, _ string, secret []byte) {
			s, err := Open(parent, Options{})
			must(t, err)
			must(t, s.DropFork(secret))
			must(t, s.Close())
		},
		"no checkpoint": func(t *testing.T, parent, _ string, _ []byte) { alter(t, parent, "DELETE FROM art_checkpoint") },
		"triggers": func(t *testing.T, parent, _ string, _ []byte) {
			alter(t, parent, "CREATE TRIGGER x AFTER INSERT ON fs_inode BEGIN DELETE FROM fs_inode; END")
		},
		"itself": func(t *testing.T, _, fork string, _ []byte) {
			alter(t, fork, "UPDATE art_parent SET path=CAST('"+fork+"' AS BLOB)")
		},
		"another's": func(t *testing.T, _, fork string, _ []byte) {
			alter(t, fork, "UPDATE art_parent SET secret=randomblob(16)")
		},
		"none":                        func(t *testing.T, _, fork string, _ []byte) { alter(t, fork, "DELETE FROM art_parent") },
		"what it hides is gone":       func(t *testing.T, _, fork string, _ []byte) { alter(t, fork, "DROP TABLE art_hidden") },
		"the parent's forks are gone": func(t *testing.T, parent, _ string, _ []byte) { alter(t, parent, "DROP TABLE art_fork") },
		"no secret":                   func(t *testing.T, _, fork string, _ []byte) { alter(t, fork, "UPDATE art_parent SET secret=x''") },
		"two": func(t *testing.T, _, fork string, _ []byte) {
			alter(t, fork, "INSERT INTO art_parent SELECT 2, path, secret, checkpoint, max_ino FROM art_parent")
		},
		"relative": func(t *testing.T, _, fork string, _ []byte) {
			alter(t, fork, "UPDATE art_parent SET path=CAST('parent.db' AS BLOB)")
		},
		"another highest": func(t *testing.T, _, fork string, _ []byte) {
			alter(t, fork, "UPDATE art_parent SET max_ino=max_ino+1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent, fork, secret := forkOf(t)
			spoil(t, parent, fork, secret)
			was, err := os.ReadFile(fork)
			must(t, err)
			for _, opt := range []Options{{}, {ReadOnly: true}} {
				s, err := Open(fork, opt)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, ErrForkParent) {
					t.Errorf("%+v: %v", opt, err)
				}
			}
			if is, err := os.ReadFile(fork); err != nil || string(is) != string(was) {
				t.Errorf("the fork has changed (%v)", err)
			}
		})
	}
}
