package man

import (
	"os"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/reconcile/held"
)

// TestHeldTable holds the table of what pull holds back in art(7) to the one in package held.
func TestHeldTable(t *testing.T) {
	old, err := os.ReadFile(HeldPage)
	if err != nil {
		t.Fatal(err)
	}
	page, err := WithHeld(string(old))
	if err != nil {
		t.Fatal(err)
	}
	if page != string(old) {
		t.Errorf("%s is not what go generate writes: run go generate ./internal/packaging/man", HeldPage)
	}
	if n := strings.Count(heldTable(), "\n.It Em "); n != len(held.Table) {
		t.Errorf("%d rows of %d", n, len(held.Table))
	}
	if _, err := WithHeld("no table"); err == nil {
		t.Error("a page without the table is taken")
	}
}
