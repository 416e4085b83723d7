package reconcile

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// A session that has exchanged two names of the workspace is pulled as it is, whatever they name, and the next diff is
// empty.
func TestPullAfterExchange(t *testing.T) {
	for what, swap := range map[string]func(g *guest){
		"two files":                func(g *guest) { g.exchange("a", "b") },
		"two directories":          func(g *guest) { g.exchange("d", "e") },
		"a file and a directory":   func(g *guest) { g.exchange("a", "d") },
		"in different directories": func(g *guest) { g.exchange("d/x", "e/x") },
		"there and back":           func(g *guest) { g.exchange("a", "b"); g.exchange("b", "a") },
		"in a circle":              func(g *guest) { g.exchange("a", "b"); g.exchange("b", "c") },
		"one that is new":          func(g *guest) { g.write("new", "of the guest"); g.exchange("a", "new") },
		"one that is written":      func(g *guest) { g.append("a", "more"); g.exchange("a", "b") },
		"and written":              func(g *guest) { g.exchange("a", "b"); g.append("a", "more") },
		"and one is removed":       func(g *guest) { g.exchange("a", "b"); g.remove("a") },
		"by three renames, and one is removed": func(g *guest) {
			g.rename("a", "t")
			g.rename("b", "a")
			g.rename("t", "b")
			g.remove("a")
		},
		"and both are removed":       func(g *guest) { g.exchange("d", "e"); g.remove("d"); g.remove("e") },
		"and renamed":                func(g *guest) { g.exchange("d", "e"); g.rename("d", "f") },
		"the entries of directories": func(g *guest) { g.exchange("d", "e"); g.exchange("d/x", "e/x"); g.remove("e/y") },
	} {
		for _, pushed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, pushed %t", what, pushed), func(t *testing.T) { pullAfterExchange(t, swap, pushed) })
		}
	}
}

func pullAfterExchange(t *testing.T, swap func(*guest), pushed bool) {
	b := newBench(t)
	for _, rel := range []string{"a", "b", "c", "d/x", "d/y", "e/x", "e/z/y"} {
		b.write(rel, "of "+rel)
	}
	if pushed {
		b.push()
	}
	var want map[string]string
	b.guest(func(g *guest) {
		swap(g)
		want = g.portrait()
	})
	b.pull(b.ws)
	if got := b.hostPortrait(); !maps.Equal(got, want) {
		t.Errorf("the host has\n%v\nthe guest had\n%v", got, want)
	}
	differ := func(ctx context.Context, opt Options) error {
		_, err := Diff(ctx, opt)
		return err
	}
	if out, told, err := b.run(differ, b.ws); err != nil || out != "" {
		t.Errorf("after the pull there is a difference: %v\n%s%s", err, out, told)
	}
	b.guest(func(g *guest) {
		if got := g.portrait(); !maps.Equal(got, want) {
			t.Errorf("the next session has\n%v\nthe one before had\n%v", got, want)
		}
	})
	if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
		t.Errorf("the database is damaged: %v %v", found, err)
	}
}
