package generate

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/preset"
)

var update = flag.Bool("update", false, "write the generated parts")

// TestCurrent holds what is generated to what it is generated from.
func TestCurrent(t *testing.T) {
	for _, name := range files {
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		now, err := rewrite(string(old))
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !generated.MatchString(now):
			t.Errorf("%s has no generated part", name)
		case now == string(old):
		case *update:
			if err := os.WriteFile(name, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is not what go generate writes: run go generate ./internal/packaging/generate", name)
		}
	}
}

// TestPresetsSayWhatTheManualNeeds wants of each preset all that art-agents(7) has a paragraph for.
func TestPresetsSayWhatTheManualNeeds(t *testing.T) {
	presets, err := preset.Embedded()
	if err != nil || len(presets) < 6 {
		t.Fatalf("%d presets: %v", len(presets), err)
	}
	for _, p := range presets {
		if p.Login == "" || p.Hooks == "" || p.Limits == "" || p.Sandbox == "" {
			t.Errorf("the preset %s leaves out what the manual has to say", p.Name)
		}
	}
}

// TestFlagsAreDescribed wants each flag of a program that has a page of its own in its list.
func TestFlagsAreDescribed(t *testing.T) {
	for _, c := range []*flags.Command{flags.Art, flags.Fuse, flags.Sync, flags.Trace} {
		list := manList(c)
		for _, f := range c.Flags {
			if !strings.Contains(list, "Fl -"+f.Name) && !strings.Contains(list, "Fl "+f.Name) {
				t.Errorf("%s --%s is not in the manual page", c.Name, f.Name)
			}
		}
	}
}

func TestRewrite(t *testing.T) {
	if _, err := rewrite("# generated: nothing\n# generated: end\n"); err == nil {
		t.Error("a part that nobody generates is taken")
	}
	now, err := rewrite("before\n# generated: flags of art-trace\nold\n# generated: end\nafter\n")
	if err != nil || strings.Contains(now, "old") || !strings.HasPrefix(now, "before\n# generated: flags of art-trace\n.Bl") || !strings.HasSuffix(now, "# generated: end\nafter\n") {
		t.Errorf("%v, %s", err, now)
	}
}

func TestMdoc(t *testing.T) {
	for text, want := range map[string]string{
		"x is run by `a-b c`. It's ~ done.":              "x is run by\n.Ql \\&a\\-b \\&c .\nIt\\(aqs \\(ti done.",
		"As `DIR`, see art(7); --base names (\"`/a/b`).": "As\n.Ar DIR ,\nsee\n.Xr art 7 ;\n.Fl -base\nnames (\"\\(ga/a/b\\(ga).",
		"The variable `ART_DB` (`none` `.art`).":         "The variable\n.Ev ART_DB\n.Li ( \\&none\n.Pa .art ) .",
	} {
		if got := strings.Join(mdoc(text), "\n"); got != want {
			t.Errorf("%q becomes\n%s\nand not\n%s", text, got, want)
		}
	}
}
