package man

import (
	"errors"
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/reconcile/held"
)

//go:generate go run ./generate

// HeldPage is the page that shows what pull holds back.
const HeldPage = "art.7"

// The table is between these lines of it.
const (
	heldBegin = `.\" begin of what go generate writes from internal/reconcile/held/table.go`
	heldEnd   = `.\" end of it`
)

// WithHeld returns the source of that page with the table as it is now.
func WithHeld(page string) (string, error) {
	before, rest, ok := strings.Cut(page, heldBegin+"\n")
	_, after, ok2 := strings.Cut(rest, heldEnd+"\n")
	if !ok || !ok2 {
		return "", errors.New(HeldPage + ": the lines that mark the table are not there")
	}
	return before + heldBegin + "\n" + heldTable() + heldEnd + "\n" + after, nil
}

// breakable lets a long address go on in the next line after a slash (groff(7), \:).
var breakable = strings.NewReplacer("://", "://", "/", `/\:`, "#", `\:#`, "_", `_\:`)

// heldTable is the table in mdoc(7).
func heldTable() string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds\n")
	for _, r := range held.Table {
		fmt.Fprintf(&b, ".It Em %s\n.Pa %s .\n", strings.ReplaceAll(r.Tool, ",", " ,"), strings.Join(r.Patterns, " , "))
		text := strings.ToUpper(r.Why[:1]) + r.Why[1:]
		if r.Vendored {
			text += ", below node_modules too"
		}
		b.WriteString(text + ".\n")
		if strings.HasPrefix(r.Source, "https:") {
			fmt.Fprintf(&b, ".Lk %s\n", breakable.Replace(r.Source))
		}
	}
	b.WriteString(".El\n")
	return b.String()
}
