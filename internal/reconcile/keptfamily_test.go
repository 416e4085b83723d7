package reconcile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// relation is one of a database and its forks.
type relation struct {
	*kept
	held int64 // the newest checkpoint that a fork is of: it and those before show what the host has
}

// Whichever of a database and its forks is pulled from, and whichever checkpoints were dropped before or are dropped since, those that are
// left, and are newer than what forks are of, go on to show what they were, in all of them.
func TestFamilyKeepsWhatPullsReplace(t *testing.T) {
	tellKept(t, 0.04, 6, func(rt *rapid.T, k *kept) {
		k.know()
		family := []*relation{{kept: k}}
		for _, of := range []int{0, 0, 1} {
			family = append(family, family[of].fork())
		}
		for round := range 5 {
			for _, r := range family {
				r.goOn(rt)
			}
			pulled := family[round%len(family)]
			_, told, err := pulled.run(Pull, k.ws, allow, force)
			fmt.Fprintf(&k.log, "pull from %s: %v\n%s", pulled.name(), err, told)
			for _, r := range family {
				r.check()
			}
		}
		for _, k := range family {
			if found, err := fsck.Check(k.db); err != nil || len(found) > 0 {
				rt.Fatalf("%s is damaged: %v %v\n%s", filepath.Base(k.db), found, err, &k.log)
			}
		}
	})
}

func (r *relation) name() string { return strings.TrimSuffix(filepath.Base(r.db), ".db") }

// fork is [bench.fork], which makes a checkpoint.
func (r *relation) fork() *relation {
	fork := &relation{kept: &kept{r.story, r.bench.fork(), r.fatalf, map[int64]map[string]string{}}}
	r.guest(func(g *guest) {
		all, err := g.store.Checkpoints()
		must(r.t, err)
		r.held = all[0].ID
	})
	return fork
}

// goOn has a guest change something, checkpoints be made and dropped, or nothing happen.
func (r *relation) goOn(rt *rapid.T) {
	fmt.Fprintf(&r.log, "in %s:\n", r.name())
	if rapid.Bool().Draw(rt, "goes on") {
		r.guest(func(g *guest) {
			for range rapid.IntRange(0, 3).Draw(rt, "edits") {
				r.edit(rt, guestEditor{g}, r.name())
			}
			c, err := g.store.Checkpoint(sqlvfs.ByUser, "")
			must(r.t, err)
			fmt.Fprintf(&r.log, "checkpoint %d\n", c.ID)
			if c.ID > r.held {
				r.shown[c.ID] = g.portrait()
			}
		})
	}
	if len(r.shown) > 1 && rapid.Bool().Draw(rt, "drops") {
		r.thin(len(r.shown) - 1)
	}
}

// check makes sure that checkpoints show what they have shown.
func (r *relation) check() {
	for _, id := range slices.Sorted(maps.Keys(r.shown)) {
		r.at(id, func(g *guest) {
			if now := g.portrait(); !maps.Equal(now, r.shown[id]) {
				r.fatalf("checkpoint %d of %s shows %v\nand has shown %v\n%s", id, r.name(), now, r.shown[id], &r.log)
			}
		})
	}
}
