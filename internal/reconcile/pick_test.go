package reconcile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"
)

// numbered is a text whose lines the guest changes some of.
func numbered(r *rand.Rand, was string) string {
	if was == "" {
		for i := range 30 {
			was += fmt.Sprintln("line", i)
		}
	}
	var b strings.Builder
	for line := range strings.Lines(was) {
		switch r.IntN(12) {
		case 0:
			fmt.Fprintln(&b, "changed", r.IntN(1000))
		case 1:
			fmt.Fprint(&b, line, "new ", r.IntN(1000), "\n")
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// editTexts makes random changes of the guest's, of which parts can be picked.
func editTexts(r *rand.Rand, g *guest) {
	for range 2 + r.IntN(6) {
		all := g.portrait()
		at, to := places[r.IntN(len(places))], places[r.IntN(len(places))]
		isDir := func(rel string) bool { return rel == "." || all[rel] == "dir" }
		_, there := all[at]
		_, taken := all[to]
		switch op := r.IntN(8); {
		case !isDir(path.Dir(at)):
		case op < 4 && !there:
			g.write(at, numbered(r, ""))
		case op < 4 && strings.Contains(all[at], "file "):
			g.write(at, numbered(r, g.read(at)))
		case op < 5 && !there:
			g.symlink("target", at)
		case op < 6 && strings.Contains(all[at], "file "):
			g.chmod(at, 0o755)
		case op < 7 && there && !taken && at != to && isDir(path.Dir(to)) && !strings.HasPrefix(to, at+"/"):
			g.rename(at, to)
		case op < 8 && there:
			g.remove(at)
		}
	}
}

// answers are what a user might say, again and again.
type answers struct{ *rand.Rand }

func (a answers) Read(b []byte) (int, error) {
	const said = "y\nn\n"
	return copy(b, said[2*a.IntN(2):][:2]), nil
}

func picked(stdin *strings.Reader) func(*Options) {
	return func(o *Options) { o.Pick, o.Stdin = true, stdin }
}

// Whatever is picked, in however many pulls, the guest keeps all of its own, and what was not picked comes
// with the rest: to pick all is to pull, and to pick nothing changes nothing.
func TestPicking(t *testing.T) {
	seeds := uint64(50)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir, err := fastDir()
			must(t, err)
			defer os.RemoveAll(dir)
			r := rand.New(rand.NewPCG(seed, 0))
			b := bench{t: t, ws: path.Join(dir, "ws"), db: path.Join(dir, "db")}
			must(t, os.MkdirAll(b.path("d/s"), 0o755))
			for _, at := range []string{"a", "b", "d/a", "d/b", "d/s/x"} {
				b.write(at, numbered(r, ""))
			}
			if r.IntN(2) == 0 {
				b.push()
			}
			for range 1 + r.IntN(3) {
				var want map[string]string
				b.guest(func(g *guest) {
					editTexts(r, g)
					want = g.portrait()
				})
				before := b.hostPortrait()
				if _, told, err := b.run(Pull, b.ws, picked(strings.NewReader(strings.Repeat("n\n", 200)))); err != nil {
					t.Fatal(err, told)
				}
				if now := b.hostPortrait(); !maps.Equal(now, before) {
					t.Fatalf("the host has %v\nand had %v", now, before)
				}
				for range r.IntN(3) {
					_, told, err := b.run(Pull, b.ws, func(o *Options) { o.Pick, o.Stdin = true, answers{r} })
					if err != nil && !strings.Contains(told, errNeeded.Error()) {
						t.Fatal(err, told)
					}
					b.guest(func(g *guest) {
						if now := g.portrait(); !maps.Equal(now, want) {
							t.Fatalf("the guest has %v\nand had %v", now, want)
						}
					})
				}
				if _, told, err := b.run(Pull, b.ws, picked(strings.NewReader(strings.Repeat("y\n", 200)))); err != nil {
					t.Fatal(err, told)
				}
				if now := b.hostPortrait(); !maps.Equal(now, want) {
					t.Fatalf("the host has %v\nand the guest %v", now, want)
				}
				if out, told, err := b.run(Pull, b.ws); err != nil || strings.Count(out, "\n") != 2 {
					t.Fatal("a pull of all finds more: ", out, told, err)
				}
			}
		})
	}
}
