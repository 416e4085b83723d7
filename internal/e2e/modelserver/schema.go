package modelserver

import (
	"encoding/json"
	"strings"
)

// fill returns a small value of a JSON schema, for the requests whose answer has to be JSON: titles, and choices among models.
func fill(schema json.RawMessage) string {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return "{}"
	}
	b, err := json.Marshal(value(s, 0))
	if err != nil {
		return "{}"
	}
	return string(b)
}

// value makes a value of the schema's type: of what is listed the first, and nothing that may be left out.
func value(s map[string]any, depth int) any {
	if depth > 20 {
		return nil
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	kind, _ := s["type"].(string)
	switch strings.ToLower(kind) {
	case "string":
		return "Greetings"
	case "integer", "number":
		return 1
	case "boolean":
		return false
	case "array":
		return []any{}
	}
	o := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if n, ok := name.(string); ok {
			p, _ := properties[n].(map[string]any)
			o[n] = value(p, depth+1)
		}
	}
	return o
}
