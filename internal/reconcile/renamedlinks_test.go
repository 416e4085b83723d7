package reconcile

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// A directory that the guest renames takes along names of files that have others elsewhere: on the host they stay one file, as they are in
// the guest.
func TestPullOfARenamedDirectoryKeepsLinks(t *testing.T) {
	for what, story := range map[string]struct {
		links map[string]string // other names on the host, by the first
		guest func(g *guest)
		want  []string // names that are one file afterwards
	}{
		"one leads out":   {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d") }, []string{"d/1", "l"}},
		"three names":     {map[string]string{"l": "a/1", "a/2": "a/1"}, func(g *guest) { g.rename("a", "d") }, []string{"d/1", "d/2", "l"}},
		"two that stay":   {map[string]string{"l": "a/1", "m/l": "a/1"}, func(g *guest) { g.rename("a", "d") }, []string{"d/1", "l", "m/l"}},
		"below it":        {map[string]string{"l": "a/1", "a/sub/2": "a/1"}, func(g *guest) { g.rename("a", "d") }, []string{"d/1", "d/sub/2", "l"}},
		"two directories": {map[string]string{"m/l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.rename("m", "n") }, []string{"d/1", "n/l"}},
		"two directories, one stays": {map[string]string{"m/l": "a/1", "l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.rename("m", "n") },
			[]string{"d/1", "n/l", "l"}},
		"into another":               {map[string]string{"m/l": "a/1"}, func(g *guest) { g.rename("a", "m/d") }, []string{"m/d/1", "m/l"}},
		"the other is renamed":       {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.rename("l", "k") }, []string{"d/1", "k"}},
		"the other is renamed first": {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("l", "k"); g.rename("a", "d") }, []string{"d/1", "k"}},
		"the other is written":       {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.write("l", "new") }, []string{"d/1", "l"}},
		"written before":             {map[string]string{"l": "a/1"}, func(g *guest) { g.write("l", "new"); g.rename("a", "d") }, []string{"d/1", "l"}},
		"written there":              {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.write("d/1", "new") }, []string{"d/1", "l"}},
		"the other is executable":    {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.chmod("l", 0o755) }, []string{"d/1", "l"}},
		"executable there":           {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.chmod("d/1", 0o755) }, []string{"d/1", "l"}},
		"a name more":                {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.link("l", "k") }, []string{"d/1", "l", "k"}},
		"a name more there":          {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.link("d/1", "k") }, []string{"d/1", "l", "k"}},
		"one is removed":             {map[string]string{"l": "a/1", "m/l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.remove("l") }, []string{"d/1", "m/l"}},
		"all others are removed":     {map[string]string{"l": "a/1"}, func(g *guest) { g.rename("a", "d"); g.remove("l") }, []string{"d/1"}},
		"replaced":                   {map[string]string{"l": "a/1", "k": "a/1"}, func(g *guest) { g.rename("a", "d"); g.remove("l"); g.write("l", "new") }, []string{"d/1", "k"}},
	} {
		for _, before := range []string{"nothing", "a push", "a pull", "a pull of the other"} {
			b := newBench(t)
			b.write("a/1", "of the host")
			for _, dir := range []string{"m", "a/sub"} {
				must(t, os.Mkdir(b.path(dir), 0o755))
			}
			for at, of := range story.links {
				must(t, os.Link(b.path(of), b.path(at)))
			}
			switch before {
			case "a push":
				b.push()
			case "a pull", "a pull of the other":
				at := "a/1"
				if before != "a pull" {
					at = slices.Max(slices.Collect(maps.Keys(story.links)))
				}
				b.guest(func(g *guest) { g.chmod(at, 0o755) })
				b.pull(b.ws)
				b.guest(func(g *guest) { g.chmod(at, 0o644) })
				b.pull(b.ws)
			}
			var shown map[string]string
			b.guest(func(g *guest) {
				story.guest(g)
				shown = g.portrait()
			})
			if patch := b.diff(func(o *Options) { o.Form = Patch }); !strings.Contains(patch, " b/"+story.want[0]+"\n") {
				t.Errorf("%s, after %s: the patch is\n%s", what, before, patch)
			}
			dry, _ := b.pull(b.ws, dryRun)
			if out, told := b.pull(b.ws); dry != out || told != "" {
				t.Errorf("%s, after %s: a dry run said\n%sand the pull\n%s%s", what, before, dry, out, told)
			}
			if is := b.hostPortrait(); !maps.Equal(is, shown) {
				t.Errorf("%s, after %s: the host has %v\nand the guest had %v", what, before, is, shown)
			}
			first := b.stat(story.want[0])
			if int(first.Nlink) != len(story.want) || slices.ContainsFunc(story.want, func(at string) bool { return b.stat(at).Ino != first.Ino }) {
				t.Errorf("%s, after %s: %v are not one file", what, before, story.want)
			}
			b.guest(func(g *guest) {
				if is := g.portrait(); !maps.Equal(is, shown) {
					t.Errorf("%s, after %s: the guest has %v\nand had %v", what, before, is, shown)
				}
			})
			if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
				t.Errorf("%s, after %s: the database is damaged: %v %v", what, before, found, err)
			}
			if found, err := fsck.Check(b.db); err != nil || len(found) > 0 {
				t.Errorf("%s, after %s: the database is damaged: %v %v", what, before, found, err)
			}
			if out, told := b.pull(b.ws); told != "" || out != "Workspace name: ws\nExporting from: /ws/\n" {
				t.Errorf("%s, after %s, again:\n%s%s", what, before, out, told)
			}
		}
	}
}
