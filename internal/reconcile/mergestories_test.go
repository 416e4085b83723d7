package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/history"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

// mergeStories are what befalls a database p and its forks f and g, in turn. A line is an edit of one of them or of the host, the making of the
// forks, a merge or pull with the paths that it names as in conflict, an undo, or what one of them is to have.
var mergeStories = map[string]string{
	"a name that does not show here goes with a renamed directory": `
		host mkdir d
		host write d/x one
		forks
		p remove d
		f append d/x two
		f rename d/x b
		merge f d
		f rename d k
		merge f
		p has b onetwo
		p lacks k/x`,
	"a conflict in a directory that the fork has pulled": `
		host mkdir d
		host write d/x one
		forks
		p remove d/x
		g append d/x two
		pull g
		merge g d/x
		merge g d/x
		p lacks d/x
		p write d/new three
		g write d/y four
		merge g d/x
		p has d/y four
		force g
		p has d/x onetwo
		p has d/new three
		merge g`,
	"the fork has pulled before it was merged, and goes on": `
		p mkdir b
		p write b/k p
		p write t p
		p write u p
		forks
		pull f
		merge f
		f append b/k f
		f write b/n f
		f append t f
		f remove u
		merge f
		p has b/k pf
		p has b/n f
		p has t pf
		p lacks u
		f append b/k more
		f mkdir b/s
		merge f
		p has b/k pfmore
		p has b/s dir
		merge f`,
	"the fork was merged, has pulled, and goes on": `
		forks
		f mkdir b
		f mkdir b/s
		f write b/s/k f
		f write b/t f
		merge f
		pull f
		f append b/s/k 1
		f remove b/t
		merge f
		f append b/s/k 2
		f write b/s/n f
		merge f
		p has b/s/k f12
		p has b/s/n f
		p lacks b/t
		merge f`,
	"a conflict in a directory that the parent has made, and the fork has pulled": `
		p mkdir b
		p write b/k p
		forks
		p remove b/k
		pull f
		f append b/k f
		merge f b/k
		f write b/new f
		p write b/a p
		merge f b/k
		p has b/new f
		force f
		p has b/k pf
		p has b/a p
		merge f`,
	"a file that only the host names is changed in the fork": `
		host write a h
		host link a c
		p append a p
		forks
		f append a f
		f remove a
		merge f
		p has c hpf
		p lacks a`,
	"a file that only the host names is changed in both": `
		host write a h
		host link a c
		p append a p
		forks
		f append a f
		f remove a
		p append a more
		merge f a
		p has c hpmore
		merge f a
		force f
		p has c hpf
		p lacks a`,
	"each moves what the other has in a directory": `
		host mkdir d
		host mkdir e
		host write d/x h
		forks
		p rename d z
		f rename d/x e/x
		merge f d e/x
		p has z/x h
		p lacks e/x
		merge f d e/x`,
	"a file of the host's that the fork has pulled, and changes again": `
		host write x h
		forks
		f append x 1
		f write y 1
		pull f
		merge f
		f append x 2
		f append y 2
		merge f
		p has x h12
		p has y 12
		f append x 3
		merge f
		p has x h123`,
	"a file in a renamed directory that the parent has pulled": `
		host mkdir a
		host write a/z one
		p rename a b
		forks
		p write b/z two
		pull p
		f has b/z two
		pull f
		merge f
		p has b/z two`,
	"directories take each other's places, one of which was removed here": `
		host mkdir b
		host mkdir c
		host write b/x one
		host write c/y two
		forks
		f exchange b c
		p remove b
		merge f b c
		p has c/y two
		p lacks c/x`,
	"a file is moved to where the parent has removed something, with another in its place": `
		host mkdir a
		host write x two
		forks
		f rename x a/q
		f write x new
		p remove a
		merge f a x
		p has x two
		merge f a x
		force f
		p has x new
		p has a/q two`,
	"a renamed directory that the fork has pulled, and the parent links a file of": `
		host mkdir a
		host write a/x one
		host write a/y two
		forks
		f rename a d
		pull f
		p link d/x b
		merge f
		p has d/x one
		p has d/y two
		p append b more
		p has d/x onemore
		pull p
		host has d/x onemore`,
	"the fork goes on in a directory that it has renamed, after the parent's pull": `
		host mkdir a
		host write a/x one
		forks
		f rename a t
		merge f
		pull p
		f write t/y new
		merge f
		p has t/x one
		p has t/y new
		f append t/x two
		merge f
		p has t/x onetwo
		f rename t/y t/z
		f mkdir t/s
		f write t/s/k k
		merge f
		p has t/z new
		p has t/s/k k
		p lacks t/y
		f remove t/x
		merge f
		p lacks t/x
		pull p
		host has t/z new
		merge f`,
	"the parent has renamed a directory before it was forked, and pulls that": `
		host mkdir b
		host write b/x one
		p rename b h
		forks
		pull p
		p append h/x two
		merge f
		p has h/x onetwo
		f write h/y new
		merge f
		p has h/y new
		p has h/x onetwo`,
	"the parent has put something else in place of a directory, and pulls that": `
		host mkdir b
		host mkdir b/s
		host write b/x one
		host write b/s/k k
		p rename b h
		p mkdir b
		p write b/x two
		forks
		pull p
		merge f
		f append h/x more
		f append h/s/k more
		f append b/x more
		merge f
		p has h/x onemore
		p has h/s/k kmore
		p has b/x twomore
		pull p
		host has h/s/k kmore`,
	"the fork changes a file in a directory that the parent has renamed, and has pulled": `
		host mkdir d
		host write d/y h
		p rename d c
		forks
		pull p
		f append c/y f
		merge f
		p has c/y hf
		pull p
		host has c/y hf`,
	"a pull that leaves a part of a renamed directory": `
		host mkdir a
		host write a/x one
		host write a/y two
		forks
		p rename a t
		f rename a t
		host mkdir t
		host write t/x other
		pull p t/x a/x a/y a
		f has t/x one
		f has t/y two
		merge f
		p has t/x one`,
	"both have renamed a directory, and changed what is in it": `
		host mkdir a
		host mkdir a/s
		host write a/x one
		host write a/y two
		host write a/s/k k
		host write a/s/l l
		forks
		p rename a t
		f rename a t
		p append t/x p
		p remove t/s/l
		f append t/y f
		f write t/s/n n
		pull p
		f has t/y twof
		f has t/s/k k
		f has t/s/n n
		f has t/x onep
		merge f
		p has t/x onep
		p has t/y twof
		p has t/s/n n
		p lacks t/s/l`,
	"what was put in place of a renamed directory is merged again": `
		p mkdir d
		p write d/a one
		forks
		p append d/a p
		f rename d e
		f mkdir d
		f write d/a f
		merge f
		p has e/a onep
		p has d/a f
		undo p
		p has d/a onep
		merge f
		f append e/a more
		f remove d
		merge f e/a
		p has e/a onep
		p lacks d/a`,
}

func TestMergeStories(t *testing.T) {
	for name, script := range mergeStories {
		t.Run(name, func(t *testing.T) {
			dir, err := fastDir()
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
			must(t, os.Mkdir(b.ws, 0o755))
			f := mergeFamily{"p": b}
			for line := range strings.Lines(strings.TrimSpace(script)) {
				f.step(t, strings.Fields(line))
				for who, b := range f {
					if found, err := fsck.Check(b.db); len(f) > 1 && (err != nil || len(found) > 0) {
						t.Fatalf("%safter that %s is damaged: %v %v", line, who, found, err)
					}
				}
			}
		})
	}
}

// mergeFamily are a database and its forks by their names.
type mergeFamily map[string]bench

// step does what a line says.
func (f mergeFamily) step(t *testing.T, line []string) {
	t.Helper()
	named := func(told string, err error, want []string) {
		t.Helper()
		if is := conflicts(told); fmt.Sprint(is) != fmt.Sprint(want) || err != nil && !errors.Is(err, ErrConflicts) {
			t.Fatalf("%s names %q: %v\n%s", strings.Join(line, " "), is, err, told)
		}
	}
	p := f["p"]
	switch line[0] {
	case "host":
		if line[1] != "has" {
			do(hostEditor{p}, line[1:])
		} else if is, err := os.ReadFile(p.path(line[2])); err != nil || string(is) != line[3] {
			t.Errorf("the host has %q as %q, and not %q: %v", line[2], is, line[3], err)
		}
	case "forks":
		p.guest(func(*guest) {})
		p.know()
		f["f"], f["g"] = p.fork(), p.fork()
	case "merge":
		_, told, err := p.merge(f[line[1]])
		named(told, err, line[2:])
	case "force":
		_, told, err := p.merge(f[line[1]], forceMerge)
		named(told, err, line[2:])
	case "pull":
		_, told, err := f[line[1]].run(Pull, p.ws)
		named(told, err, line[2:])
	case "undo":
		var buf bytes.Buffer
		must(t, history.Undo(context.Background(), f[line[1]].historyOptions(&buf)))
	default:
		b, ok := f[line[0]]
		if !ok {
			t.Fatalf("no such step: %q", line)
		}
		switch line[1] {
		case "has":
			if is := b.portrait()[line[2]]; !strings.HasSuffix(" "+is, " "+line[3]) {
				t.Errorf("%s has %q as %s, and not %q", line[0], is, line[2], line[3])
			}
		case "lacks":
			if is, has := b.portrait()[line[2]]; has {
				t.Errorf("%s has %q as %s", line[0], is, line[2])
			}
		default:
			b.guest(func(g *guest) { do(guestEditor{g}, line[1:]) })
		}
	}
}
