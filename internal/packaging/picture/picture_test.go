package picture

import (
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	got, err := SVG("plain <text>\r\n\r\n\x1b[32mgreen\x1b[m and \x1b[1mbold\x1b[0m\r\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`y="30" xml:space="preserve">plain &lt;text&gt;</text>`, `y="70"`,
		`<tspan fill="#8ce99a">green</tspan> and <tspan font-weight="bold">bold</tspan></text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, `y="50"`) || strings.Count(got, "<text") != 2 {
		t.Errorf("an empty line is drawn:\n%s", got)
	}
	for _, bad := range []string{"\x1b[2J", "\x1b[35mx", "a\x07b", "x\rover"} {
		if got, err := SVG(bad); err == nil {
			t.Errorf("%q became\n%s", bad, got)
		}
	}
}
