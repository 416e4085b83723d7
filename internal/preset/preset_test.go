package preset

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/hold"
	"github.com/riverlytech/art/internal/seccomp"
)

// What comes with art can be read, and says what people want to know.
func TestEmbedded(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	names := Names()
	for _, want := range []string{"aider", "claude", "codex", "gemini", "mini", "opencode"} {
		if !slices.Contains(names, want) {
			t.Errorf("no preset %s in %q", want, names)
		}
	}
	for _, name := range names {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
		} else if p.About == "" || p.Sandbox == "" || p.Login == "" || len(p.Network) == 0 || p.Home != name || len(p.Hold) == 0 {
			t.Errorf("the preset %s leaves something out", name)
		}
		for _, r := range p.Network {
			if !strings.Contains(r.Source, ": https://") {
				t.Errorf("the preset %s does not say where it is documented that it reaches %q", name, r.Hosts)
			}
		}
	}
}

// An editor knows just the keys that art reads.
func TestSchema(t *testing.T) {
	var schema struct {
		Properties map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal([]byte(Schema()), &schema); err != nil {
		t.Fatal(err)
	}
	whole, settings := config.PresetKeys()
	if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, whole) {
		t.Errorf("the schema has %q, art %q", got, whole)
	}
	if got := slices.Sorted(maps.Keys(schema.Properties["settings"].Properties)); !slices.Equal(got, settings) {
		t.Errorf("of settings, the schema has %q, art %q", got, settings)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"claude", "codex"} {
		text, err := embedded.ReadFile(path(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"program": ["x"], "set": {"A": 1}, "seed": [{"path": "/"}]}`))
	f.Add([]byte(`{"program": ["x"], "hold": [{"patterns": ["a/", "*.b"], "why": "c"}, {"patterns": ["**"], "why": "\u0000"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := config.ReadPreset("x", "x.json", "/home/x", text, seccomp.Options)
		if err == nil && (len(p.Program) == 0 || !config.IsPresetName(p.Home)) {
			t.Errorf("%q was read as %+v", text, p)
		}
		if err == nil && (len(p.Hold) > hold.MaxPatterns || slices.ContainsFunc(p.Hold, func(h hold.Pattern) bool { return !h.By("x").Valid() })) {
			t.Errorf("%q holds back %q", text, p.Hold)
		}
	})
}
