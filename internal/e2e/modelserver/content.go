package modelserver

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A content is what a message says: a text, or a list of parts, in the protocols of Anthropic and OpenAI.
type content []part

type part struct {
	Type string
	Text string
}

// UnmarshalJSON takes both spellings; parts that have no text but a type are kept for count.
func (c *content) UnmarshalJSON(b []byte) error {
	*c = nil
	switch b = bytes.TrimSpace(b); {
	case len(b) > 0 && b[0] == '"':
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	case len(b) > 0 && b[0] == '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, raw := range parts {
			var p part
			if json.Unmarshal(raw, &p) != nil { // a part of another shape has no text of ours
				p = part{}
			}
			*c = append(*c, p)
		}
	}
	return nil
}

func (c content) text() string {
	var b strings.Builder
	for _, p := range c {
		b.WriteString(p.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

func (c content) count(kind string) int {
	n := 0
	for _, p := range c {
		if p.Type == kind {
			n++
		}
	}
	return n
}

// mustJSON is for what was made here.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
