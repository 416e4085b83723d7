package quote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// JSON returns a value as JSON on one line, in which strings hold only what prints: anything else
// is escaped, which means the same. What is not UTF-8 cannot be told in JSON, and becomes U+FFFD.
func JSON(value any) (string, error) {
	var text, out bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", err
	}
	line := string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	if !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return line, nil
	}
	for _, r := range line {
		switch {
		case unicode.IsPrint(r): // as is all that JSON has outside of strings
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String(), nil
}
