package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What a pull with --keep-both resolves does not come back, and no word of either side is lost.
func TestKeepBothResolves(t *testing.T) {
	checks(t, 0.5, func(rt *rapid.T) { keepTwice(t, rt) })
}

func keepTwice(t *testing.T, rt *rapid.T) {
	dir, err := fastDir()
	must(t, err)
	defer os.RemoveAll(dir)
	b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
	must(t, os.Mkdir(b.ws, 0o755))
	s := newStory(false)
	for range 6 {
		s.edit(rt, hostEditor{b}, "host")
	}
	if rapid.Bool().Draw(rt, "push first") {
		b.push()
	}
	for range 2 {
		b.guest(func(g *guest) {
			for range 4 {
				s.edit(rt, guestEditor{g}, "guest")
			}
		})
		for range 4 {
			s.edit(rt, hostEditor{b}, "host")
		}
		was := words(b.hostPortrait())
		b.guest(func(g *guest) {
			for w, at := range words(g.portrait()) {
				was[w] = at
			}
		})
		var left []string
		for again := range 2 {
			out, told, err := b.run(Pull, b.ws, keepBoth)
			fmt.Fprintf(&s.log, "pull --keep-both: %v\n%s%s", err, out, told)
			if err != nil && !errors.Is(err, ErrConflicts) {
				rt.Fatal(&s.log)
			}
			for _, at := range conflicts(told) {
				if again > 0 && !slices.Contains(left, at) {
					rt.Fatalf("%s is in conflict again:\n%s", at, &s.log)
				}
			}
			if again > 0 && len(left) == 0 && strings.Count(out, "\n") > 2 {
				rt.Fatalf("something was left without a word:\n%s", &s.log)
			}
			left = conflicts(told)
		}
		now := words(b.hostPortrait())
		b.guest(func(g *guest) {
			for w, at := range words(g.portrait()) {
				now[w] = at
			}
		})
		for w, at := range was {
			if !s.given[w] && now[w] == "" {
				rt.Fatalf("%q at %s is lost:\n%s", w, at, &s.log)
			}
		}
	}
}
