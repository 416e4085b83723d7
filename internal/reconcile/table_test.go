package reconcile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// "f" is what both sides agreed about: a file with "old" in it, or nothing where one of them makes it.

// editHost changes it on the host.
func editHost(b bench, edit string) {
	switch edit {
	case "changed", "created":
		b.write("f", "host "+edit)
	case "deleted":
		must(b.t, os.Remove(b.path("f")))
	case "kind":
		must(b.t, os.Remove(b.path("f")))
		must(b.t, os.Mkdir(b.path("f"), 0o755))
		b.write("f/x", "host's")
	}
}

func editGuest(g *guest, edit string) {
	switch edit {
	case "changed", "created":
		g.write("f", "guest "+edit)
	case "deleted":
		g.remove("f")
	case "kind":
		g.remove("f")
		g.symlink("guest's", "f")
	}
}

// state is what a side has at "f" after an edit.
var hostState = map[string]string{"unchanged": "old", "changed": "host changed", "created": "host created", "deleted": "none", "kind": "dir with host's"}
var guestState = map[string]string{"unchanged": "old", "changed": "guest changed", "created": "guest created", "deleted": "none", "kind": "-> guest's"}

func stateOf(all map[string]string) string {
	switch f, ok := all["f"]; {
	case !ok:
		return "none"
	case f == "dir":
		return "dir with " + strings.TrimPrefix(all["f/x"], "file ")
	default:
		return strings.TrimPrefix(f, "file ")
	}
}

// outcome is what is to be after a command: what both sides have at "f", and at "f.art" on the host.
type outcome struct {
	host, guest, beside string
	conflict            bool
}

// expect says what the table holds for an edit on each side.
func expect(command, host, guest string) outcome {
	o := outcome{host: hostState[host], guest: guestState[guest]}
	hostChanged, guestChanged := host != "unchanged", guest != "unchanged"
	if host == "none" { // nothing there, and made by the guest alone
		o.host, hostChanged = "none", false
	}
	if guest == "none" {
		o.guest, guestChanged = "none", false
	}
	both := hostChanged && guestChanged && o.host != o.guest
	pull := strings.HasPrefix(command, "pull")
	switch {
	case both && strings.HasSuffix(command, "--force"), !both && pull && guestChanged, !both && !pull && hostChanged:
		if pull {
			o.host = o.guest
		} else {
			o.guest = o.host
		}
	case both && strings.HasSuffix(command, "--keep-both"):
		switch { // what is not put beside stays where it is
		case host == "deleted":
			o.host = o.guest
		case guest != "deleted":
			o.beside = o.guest
			fallthrough
		default:
			o.guest = o.host
		}
	case both:
		o.conflict = true
	}
	return o
}

// TestTable is the table of all cases, for a tree that was pushed and for one that a session has only
// looked through.
func TestTable(t *testing.T) {
	type pair struct{ host, guest string }
	var pairs []pair
	for _, h := range []string{"unchanged", "changed", "deleted", "kind"} {
		for _, g := range []string{"unchanged", "changed", "deleted", "kind"} {
			pairs = append(pairs, pair{h, g})
		}
	}
	pairs = append(pairs, pair{"created", "created"}, pair{"created", "none"}, pair{"none", "created"})
	commands := map[string]func(bench) error{
		"push":             func(b bench) error { _, _, err := b.run(Push, b.ws); return err },
		"push --force":     func(b bench) error { _, _, err := b.run(Push, b.ws, force); return err },
		"pull":             func(b bench) error { _, _, err := b.run(Pull, b.ws); return err },
		"pull --force":     func(b bench) error { _, _, err := b.run(Pull, b.ws, force); return err },
		"pull --keep-both": func(b bench) error { _, _, err := b.run(Pull, b.ws, keepBoth); return err },
	}
	for _, pushed := range []bool{true, false} {
		for _, c := range pairs {
			for name, command := range commands {
				t.Run(fmt.Sprintf("pushed=%v/host %s/guest %s/%s", pushed, c.host, c.guest, name), func(t *testing.T) {
					t.Parallel()
					b := newBench(t)
					b.write("other", "of no matter")
					if c.host != "created" && c.guest != "created" {
						b.write("f", "old")
					}
					if pushed {
						b.push()
					}
					b.guest(func(g *guest) {
						g.portrait()
						editGuest(g, c.guest)
					})
					editHost(b, c.host)
					want := expect(name, c.host, c.guest)
					if !pushed && c.guest == "unchanged" || c.guest == "none" {
						want.guest = want.host // it sees the host's
					}
					err := command(b)
					if want.conflict != errors.Is(err, ErrConflicts) || !want.conflict && err != nil {
						t.Errorf("%v, conflict wanted: %v", err, want.conflict)
					}
					onHost := b.hostPortrait()
					if got := stateOf(onHost); got != want.host {
						t.Errorf("host has %q, want %q", got, want.host)
					}
					if got := strings.TrimPrefix(onHost["f.art"], "file "); got != want.beside {
						t.Errorf("beside it is %q, want %q", got, want.beside)
					}
					b.guest(func(g *guest) {
						if got := stateOf(g.portrait()); got != want.guest {
							t.Errorf("guest has %q, want %q", got, want.guest)
						}
					})
				})
			}
		}
	}
}
