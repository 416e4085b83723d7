package events

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The document has every kind, and every key.
func TestTheDocumentIsWhole(t *testing.T) {
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	about := func(kind Kind) string {
		_, of, found := strings.Cut(doc, "\n`"+string(kind)+"`: ")
		if !found {
			t.Errorf("there is no %s", kind)
		}
		if i := strings.Index(of, "\n\n`"); i >= 0 {
			of = of[:i]
		}
		return of
	}
	keys := func(where, text string, what any) {
		for f := range reflect.TypeOf(what).Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(text, "`"+key+"`") {
				t.Errorf("%s: there is no %s", where, key)
			}
		}
	}
	keys("every event", doc, Header{})
	for kind, what := range map[Kind]any{SessionBegan: Session{}, SessionEnded: End{}, Executed: Exec{}, Exited: Exit{}, Lost: Missing{}, Denied: Denial{}, FileChanged: FileChange{}, Checkpointed: Checkpoint{}, Conflicted: Conflict{}} {
		keys(string(kind), about(kind), what)
	}
}
