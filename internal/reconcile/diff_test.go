package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/riverlytech/art/internal/reconcile/show"
)

func (b bench) diff(change ...func(*Options)) string {
	b.t.Helper()
	var differ bool
	names := true
	out, told, err := b.run(func(ctx context.Context, opt Options) (err error) {
		differ, err = Diff(ctx, opt)
		names = opt.Form == Names
		return err
	}, b.ws, change...)
	if err != nil || told != "" {
		b.t.Fatalf("diff: %v\n%s", err, told)
	}
	// Of empty directories, only a list of names tells.
	if !differ && out != "" || differ && out == "" && names {
		b.t.Errorf("differ: %v, printed:\n%s", differ, out)
	}
	return out
}

func asForm(f Form) func(*Options) { return func(o *Options) { o.Form = f } }

// changedSample is a workspace in which a session has changed something of every kind.
func changedSample(t *testing.T, pushed bool) bench {
	b := newBench(t)
	for _, name := range []string{"same", "changed", "gone", "moved", "tool", "kind", "dir/a", "dir/sub/b", "touched"} {
		b.write(name, "content of "+name+"\n")
	}
	if pushed {
		b.push()
	}
	b.guest(func(g *guest) {
		g.write("changed", "content of changed\nand more\n")
		g.write("new", "new\n")
		g.mkdir("empty")
		g.remove("gone")
		g.rename("moved", "moved2")
		g.rename("dir", "dir2")
		g.write("dir2/a", "content of dir/a\nand more\n")
		g.chmod("tool", 0o755)
		g.remove("kind")
		g.symlink("same", "kind")
		g.write("touched", "content of touched\n")
	})
	return b
}

const wantNames = `M changed
A dir2/
R dir/a -> dir2/a
A dir2/sub/
R dir/sub/b -> dir2/sub/b
A empty/
D gone
T kind
R moved -> moved2
A new
T tool
`

func TestDiff(t *testing.T) {
	for what, pushed := range map[string]bool{"pushed": true, "session": false} {
		t.Run(what, func(t *testing.T) {
			b := changedSample(t, pushed)
			before := tree(t, b.ws)
			got := strings.NewReplacer("D dir/\n", "", "D dir/sub/\n", "", "R dir/ -> dir2/", "A dir2/", "R dir/sub/ -> dir2/sub/", "A dir2/sub/").Replace(b.diff())
			if got != wantNames {
				t.Errorf("printed:\n%swant:\n%s", got, wantNames)
			}
			if got := b.diff(func(o *Options) { o.Paths = []string{"moved2", "changed"} }); got != "M changed\nA moved2\n" {
				t.Errorf("of two paths:\n%s", got)
			}
			stat := b.diff(asForm(Stat))
			for _, want := range []string{" changed                 | 1 +\n", " moved => moved2         | 0\n", " 9 files changed, 4 insertions(+), 2 deletions(-)\n"} {
				if !strings.Contains(stat, want) {
					t.Errorf("no %q in:\n%s", want, stat)
				}
			}
			for line := range strings.Lines(b.diff(asForm(JSON))) {
				var o show.Object
				must(t, json.Unmarshal([]byte(line), &o))
				if o.Path == "tool" && (o.Status != "T" || o.OldMode != "100644" || o.NewMode != "100755" || o.Kind != "file") {
					t.Errorf("tool: %s", line)
				}
			}
			wantTree(t, b.ws, before)
			b.applied(t)
			b.run(Pull, b.ws)
			if got := b.diff(); got != "" {
				t.Errorf("after a pull:\n%s", got)
			}
		})
	}
}

// applied gives the patch to git in a copy of the workspace and compares that with what the guest
// has. Empty directories are not git's business.
func (b bench) applied(t interface{ Fatalf(string, ...any) }) {
	b.t.Helper()
	patch := b.diff(asForm(Patch))
	dir, err := fastDir()
	must(b.t, err)
	defer os.RemoveAll(dir)
	c := bench{b.t, filepath.Join(dir, "ws"), b.db}
	must(b.t, os.CopyFS(c.ws, os.DirFS(b.ws)))
	c.dropEmpty(".") // git knows no empty directories, and none that it could remove
	if patch != "" {
		cmd := exec.Command("git", "apply", "--whitespace=nowarn")
		cmd.Dir, cmd.Stdin = c.ws, strings.NewReader(patch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
		}
	}
	var want map[string]string
	b.guest(func(g *guest) { want = g.portrait() })
	isDir := func(_, what string) bool { return what == "dir" }
	got := c.hostPortrait()
	maps.DeleteFunc(got, isDir)
	maps.DeleteFunc(want, isDir)
	if !maps.Equal(got, want) {
		t.Fatalf("git apply gives %v\nthe guest has %v\n%s", got, want, patch)
	}
}

// dropEmpty removes directories without files from a workspace.
func (b bench) dropEmpty(rel string) {
	list, err := os.ReadDir(b.path(rel))
	must(b.t, err)
	for _, e := range list {
		if at := join(rel, e.Name()); e.IsDir() {
			b.dropEmpty(at)
			os.Remove(b.path(at)) // if it is empty
		}
	}
}

// TestPatchesOfRandomEdits gives patches of random edits to git.
func TestPatchesOfRandomEdits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := fastDir()
		must(t, err)
		defer os.RemoveAll(dir)
		b := bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}
		must(t, os.Mkdir(b.ws, 0o755))
		s := newStory(false)
		for range 12 {
			s.edit(rt, hostEditor{b}, "host")
		}
		if rapid.Bool().Draw(rt, "push") {
			b.push()
		}
		b.guest(func(g *guest) {
			for range 12 {
				s.edit(rt, guestEditor{g}, "guest")
			}
		})
		b.applied(rt)
	})
}

// A file of which the host has changed what the guest has only a part of is named.
func TestDiffNamesWhatIsBroken(t *testing.T) {
	b := newBench(t)
	b.write("big", strings.Repeat("x", 200_000))
	b.guest(func(g *guest) { g.patch("big", "y", 100_000) })
	if got := b.diff(); got != "M big\n" {
		t.Errorf("printed:\n%s", got)
	}
	b.write("big", strings.Repeat("z", 200_000))
	for _, f := range []Form{Names, Patch} {
		out, told, err := b.run(func(ctx context.Context, opt Options) error { _, err := Diff(ctx, opt); return err }, b.ws, asForm(f))
		if err != nil || f == Patch && !strings.Contains(told, "ws/big: not shown: ") || f == Names && !strings.HasPrefix(out, "M big (conflict: ") {
			t.Errorf("%v: %s%s", err, out, told)
		}
	}
}

// What the guest has written tells a terminal nothing.
func TestDiffOnATerminal(t *testing.T) {
	b := newBench(t)
	b.write("x", "1\n")
	b.guest(func(g *guest) {
		g.write("x", "\x1b]0;title\x07\x9b1m\u202eevil\n")
		g.write("a\n\x1b[31mb", "2\n")
	})
	for _, f := range []Form{Names, Patch, Stat, JSON} {
		out := b.diff(asForm(f), func(o *Options) { o.StdoutTerminal = true })
		if strings.ContainsAny(out, "\x1b\x07\u202e") || bytes.Contains([]byte(out), []byte{0x9b}) || strings.Contains(out, "a\n") {
			t.Errorf("form %d printed %q", f, out)
		}
		if painted := b.diff(asForm(f), func(o *Options) { o.StdoutTerminal, o.Colour = true, true }); (f != JSON) != strings.Contains(painted, "\x1b[3") {
			t.Errorf("form %d in colours: %q", f, painted)
		}
	}
}

func TestDiffWhileASessionRuns(t *testing.T) {
	b := newBench(t)
	b.write("x", "1\n")
	must(t, unix.Chmod(b.ws, 0o755))
	b.guest(func(g *guest) {
		g.write("x", "2\n")
		must(t, g.store.Sync())
		if got := b.diff(); got != "M x\n" {
			t.Errorf("printed:\n%s", got)
		}
	})
}
