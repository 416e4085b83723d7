package generate

import (
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/reconcile/held"
)

// breakable lets a long address go on in the next line after a slash (groff(7), \:).
var breakable = strings.NewReplacer("://", "://", "/", `/\:`, "#", `\:#`, "_", `_\:`)

// heldTable is what pull holds back, in mdoc(7).
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
