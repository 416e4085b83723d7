package man

import (
	"os"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/preset"
)

// TestAgents holds what art-agents(7) says of each agent to its preset.
func TestAgents(t *testing.T) {
	old, err := os.ReadFile(AgentsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, err := WithAgents(string(old))
	if err != nil {
		t.Fatal(err)
	}
	if page != string(old) {
		t.Errorf("%s is not what go generate writes: run go generate ./internal/packaging/man", AgentsPage)
	}
	presets, err := preset.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(presets) < 6 {
		t.Errorf("only %d presets", len(presets))
	}
	for _, p := range presets {
		if !strings.Contains(page, "\n.Ss art "+p.Name+"\n") {
			t.Errorf("no part about %s", p.Name)
		}
		if p.Login == "" || p.Hooks == "" || p.Limits == "" || p.Sandbox == "" {
			t.Errorf("the preset %s leaves out what the manual has to say", p.Name)
		}
	}
	if _, err := WithAgents("no presets"); err == nil {
		t.Error("a page without the presets is taken")
	}
}

func TestSentences(t *testing.T) {
	got := strings.Join(sentences(".x is run by `a-b`. It's ~ done."), "\n")
	if want := `\&.x is run by \(oqa\-b\(cq.` + "\n" + `It\(aqs \(ti done.`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
