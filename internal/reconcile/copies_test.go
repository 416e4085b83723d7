package reconcile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	artfs "github.com/riverlytech/art/fs"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// at runs f as a look at a checkpoint.
func (b bench) at(id int64, f func(g *guest)) {
	b.t.Helper()
	g := &guest{t: b.t}
	var err error
	g.store, err = sqlvfs.Open(b.db, sqlvfs.Options{At: fmt.Sprint(id)})
	must(b.t, err)
	defer g.store.Close()
	g.base, err = artfs.OpenHost(b.ws, b.db)
	must(b.t, err)
	defer g.base.Close()
	g.overlay, err = artfs.NewOverlay(artfs.OverlayOptions{Store: g.store, Base: g.base, Name: "ws", Logf: func(string, ...any) {}})
	must(b.t, err)
	f(g)
}

// kept is a story of a guest, of checkpoints, and of what they show.
type kept struct {
	*story
	bench
	fatalf func(format string, args ...any)
	shown  map[int64]map[string]string
}

// Whatever pulls bring to the host, each checkpoint goes on to show what it was, host's files included, and the guest can go back to it;
// and then a pull brings the host back.
func TestCheckpointsKeepWhatPullsReplace(t *testing.T) {
	tellKept(t, 0.4, 8, func(rt *rapid.T, k *kept) {
		for range 5 {
			k.round(rt)
		}
		if found, err := fsck.Check(k.db); err != nil || len(found) > 0 {
			rt.Fatalf("the database is damaged: %v %v\n%s", found, err, &k.log)
		}
	})
}

// tellKept tells stories, with hard links and without, each in a workspace after some edits on the host. There are as many as a part of the usual.
func tellKept(t *testing.T, part float64, edits int, tell func(*rapid.T, *kept)) {
	for _, links := range []bool{false, true} {
		t.Run(fmt.Sprintf("links=%v", links), func(t *testing.T) {
			checks(t, part, func(rt *rapid.T) {
				dir, err := fastDir()
				must(t, err)
				defer os.RemoveAll(dir)
				k := &kept{newStory(links), bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}, rt.Fatalf, map[int64]map[string]string{}}
				must(t, os.Mkdir(k.ws, 0o755))
				k.write("stays", "") // into an empty directory a pull is an export
				for range edits {
					k.edit(rt, hostEditor{k.bench}, "host")
				}
				tell(rt, k)
			})
		})
	}
}

func (k *kept) round(rt *rapid.T) {
	k.guest(func(g *guest) {
		for range rapid.IntRange(0, 2).Draw(rt, "checkpoints") {
			for range rapid.IntRange(0, 4).Draw(rt, "guest edits") {
				k.edit(rt, guestEditor{g}, "guest")
			}
			k.checkpoint(g)
		}
	})
	ids := slices.Sorted(maps.Keys(k.shown))
	if len(ids) > 0 {
		switch rapid.IntRange(0, 5).Draw(rt, "then") {
		case 0:
			k.thin(len(ids) - 1)
		case 1:
			k.goBack(rapid.SampledFrom(ids).Draw(rt, "back to"))
		}
	}
	k.pullAll()
}

func (k *kept) checkpoint(g *guest) {
	c, err := g.store.Checkpoint(sqlvfs.ByUser, "")
	must(k.t, err)
	k.shown[c.ID] = g.portrait()
	fmt.Fprintf(&k.log, "checkpoint %d\n", c.ID)
}

// pullAll pulls, and makes sure that the host has what the guest has then, and that checkpoints show what they have shown.
func (k *kept) pullAll() {
	_, told, err := k.run(Pull, k.ws, allow)
	fmt.Fprintf(&k.log, "pull: %v\n%s", err, told)
	if err != nil || strings.Contains(told, "CONFLICT") {
		k.fatalf("pull: %v\n%s", err, &k.log)
	}
	k.guest(func(g *guest) {
		if host, guest := k.hostPortrait(), g.portrait(); !maps.Equal(host, guest) {
			k.fatalf("the host has %v\nand the guest %v\n%s", host, guest, &k.log)
		}
	})
	for _, id := range slices.Sorted(maps.Keys(k.shown)) {
		k.at(id, func(g *guest) {
			if now := g.portrait(); !maps.Equal(now, k.shown[id]) {
				k.fatalf("checkpoint %d shows %v\nand has shown %v\n%s", id, now, k.shown[id], &k.log)
			}
		})
	}
}

func (k *kept) thin(to int) {
	k.guest(func(g *guest) {
		n, err := g.store.Thin(sqlvfs.Keep{Checkpoints: max(to, 1)})
		must(k.t, err)
		fmt.Fprintf(&k.log, "thin: %d\n", n)
		all, err := g.store.Checkpoints()
		must(k.t, err)
		for id := range k.shown {
			if !slices.ContainsFunc(all, func(c sqlvfs.Checkpoint) bool { return c.ID == id }) {
				delete(k.shown, id)
			}
		}
	})
}

func (k *kept) goBack(id int64) {
	k.guest(func(g *guest) {
		is, err := g.store.GoBack(sqlvfs.To(fmt.Sprint(id)), nil)
		fmt.Fprintf(&k.log, "back to %d: %d, %v\n", id, is.ID, err)
		if err != nil {
			k.fatalf("go back: %v\n%s", err, &k.log)
		}
	})
	k.guest(func(g *guest) {
		if now := g.portrait(); !maps.Equal(now, k.shown[id]) {
			k.fatalf("back at checkpoint %d, the guest has %v\nand had %v\n%s", id, now, k.shown[id], &k.log)
		}
	})
}
