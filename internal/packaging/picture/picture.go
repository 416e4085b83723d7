// Package picture draws what a terminal shows, as SVG.
package picture

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// Measures in pixels.
const (
	fontSize   = 14
	charWidth  = 8.43 // of the usual monospaced fonts at that size, roughly
	lineHeight = 20
	margin     = 16
)

// colours are those that art's programs print in (console_codes(4)), and bold.
var colours = map[string]string{
	"1": `font-weight="bold"`, "31": `fill="#ff8787"`, "32": `fill="#8ce99a"`, "33": `fill="#ffe066"`, "36": `fill="#66d9e8"`,
}

// sequence is a control sequence that selects colours, or does something else.
var sequence = regexp.MustCompile(`\x1b\[([0-9;]*)([A-Za-z])`)

// SVG draws lines of text with colours, as many columns wide as the longest. An
// error is a control sequence that it does not know.
func SVG(text string) (string, error) {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	lines, columns := strings.Split(text, "\n"), 0
	var body strings.Builder
	for i, line := range lines {
		columns = max(columns, len([]rune(sequence.ReplaceAllString(line, ""))))
		spans, err := spans(line)
		if err != nil {
			return "", err
		}
		if spans != "" {
			fmt.Fprintf(&body, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", margin, margin+i*lineHeight+fontSize, spans)
		}
	}
	width, height := int(float64(columns)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" fill="#e9ecef">
<rect width="%d" height="%d" rx="8" fill="#212529"/>
%s</svg>
`, width, height, width, height, fontSize, width, height, body.String()), nil
}

// spans are the pieces of a line, each in its colour.
func spans(line string) (string, error) {
	var b strings.Builder
	style := ""
	piece := func(text string) {
		switch {
		case text == "":
		case style == "":
			b.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(&b, "<tspan %s>%s</tspan>", style, html.EscapeString(text))
		}
	}
	for line != "" {
		at := sequence.FindStringSubmatchIndex(line)
		if at == nil {
			break
		}
		piece(line[:at[0]])
		code, verb := line[at[2]:at[3]], line[at[4]:at[5]]
		known := false
		if style, known = colours[code]; verb != "m" || !known && code != "" && code != "0" {
			return "", fmt.Errorf("unknown control sequence %q", line[at[0]:at[1]])
		}
		line = line[at[1]:]
	}
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
		return "", fmt.Errorf("unknown control character in %q", line)
	}
	piece(line)
	return b.String(), nil
}
