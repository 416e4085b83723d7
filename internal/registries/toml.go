package registries

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is one of TOML (https://toml.io/en/v1.0.0): its values are strings, bools, lists ([]any), tables, and for all others bare.
type table map[string]any

// bare is a number or a time, which nothing here asks for.
type bare string

// texts returns the strings of a value, which is one or a list.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

const maxDepth = 50

type tomlReader struct {
	text string
	at   int
}

// readTOML reads a text. Its errors begin with the number of the line.
func readTOML(text string) (table, error) {
	r := &tomlReader{text: strings.ReplaceAll(text, "\r\n", "\n")}
	root := table{}
	if err := r.document(root); err != nil {
		return nil, fmt.Errorf("%d: %w", 1+strings.Count(r.text[:min(r.at, len(r.text))], "\n"), err)
	}
	return root, nil
}

func (r *tomlReader) document(root table) error {
	in := root
	for {
		r.skip(true)
		if r.at == len(r.text) {
			return nil
		}
		if r.peek() != '[' {
			if err := r.pair(in, 0); err != nil {
				return err
			}
		} else {
			next, err := r.header(root)
			if err != nil {
				return err
			}
			in = next
		}
		r.skip(false)
		if c := r.peek(); c != '\n' && c != 0 {
			return errors.New("the line goes on after its end")
		}
	}
}

// header reads [a.b] or [[a.b]], and returns that table.
func (r *tomlReader) header(root table) (table, error) {
	end := "]"
	if r.at++; r.peek() == '[' {
		r.at++
		end = "]]"
	}
	path, err := r.key()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(r.text[r.at:], end) {
		return nil, errors.New("the name of a table has no end")
	}
	r.at += len(end)
	last := path[len(path)-1]
	in, err := below(root, path[:len(path)-1])
	if err != nil {
		return nil, err
	}
	if end == "]" {
		return below(in, path[len(path)-1:])
	}
	list, isList := in[last].([]any)
	if in[last] != nil && !isList {
		return nil, fmt.Errorf("%.40q is there already", last)
	}
	t := table{}
	in[last] = append(list, t)
	return t, nil
}

// below returns the table at the end of a path, which is made where it is not there; of a list, the last.
func below(in table, path []string) (table, error) {
	for _, key := range path {
		switch v := in[key].(type) {
		case nil:
			t := table{}
			in[key], in = t, t
		case table:
			in = v
		case []any:
			if len(v) == 0 {
				return nil, fmt.Errorf("%.40q is no table", key)
			}
			t, ok := v[len(v)-1].(table)
			if !ok {
				return nil, fmt.Errorf("%.40q is no table", key)
			}
			in = t
		default:
			return nil, fmt.Errorf("%.40q is no table", key)
		}
	}
	return in, nil
}

// pair reads key = value.
func (r *tomlReader) pair(in table, depth int) error {
	path, err := r.key()
	if err != nil {
		return err
	}
	if r.peek() != '=' {
		return errors.New("a key has no value")
	}
	r.at++
	r.skip(false)
	v, err := r.value(depth)
	if err != nil {
		return err
	}
	if in, err = below(in, path[:len(path)-1]); err != nil {
		return err
	}
	last := path[len(path)-1]
	if _, ok := in[last]; ok {
		return fmt.Errorf("%.40q comes twice", last)
	}
	in[last] = v
	return nil
}

// key reads a.b."c", and what is blank after it.
func (r *tomlReader) key() (path []string, err error) {
	for {
		r.skip(false)
		var part string
		switch c := r.peek(); c {
		case '"', '\'':
			if part, err = r.quoted(); err != nil {
				return nil, err
			}
		default:
			from := r.at
			for isBareKey(r.peek()) {
				r.at++
			}
			if part = r.text[from:r.at]; part == "" {
				return nil, errors.New("a key is missing")
			}
		}
		if path = append(path, part); len(path) > maxDepth {
			return nil, errors.New("it is too deep")
		}
		r.skip(false)
		if r.peek() != '.' {
			return path, nil
		}
		r.at++
	}
}

func isBareKey(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func (r *tomlReader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("it is too deep")
	}
	switch c := r.peek(); c {
	case '"', '\'':
		return r.quoted()
	case '[':
		return r.list(depth)
	case '{':
		return r.inline(depth)
	}
	from := r.at
	for c := r.peek(); c != 0 && !strings.ContainsRune(" \t\n#,]}", rune(c)); c = r.peek() {
		r.at++
	}
	switch word := r.text[from:r.at]; word {
	case "":
		return nil, errors.New("a value is missing")
	case "true", "false":
		return word == "true", nil
	default:
		// A date and a time may have a blank between them.
		if len(word) == 10 && word[4] == '-' && r.peek() == ' ' && r.at+1 < len(r.text) && r.text[r.at+1] >= '0' && r.text[r.at+1] <= '9' {
			r.at++
			for c := r.peek(); c != 0 && !strings.ContainsRune(" \t\n#,]}", rune(c)); c = r.peek() {
				r.at++
			}
		}
		return bare(r.text[from:r.at]), nil
	}
}

func (r *tomlReader) list(depth int) (any, error) {
	items := []any{}
	for r.at++; ; {
		r.skip(true)
		if r.peek() == ']' {
			r.at++
			return items, nil
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
		r.skip(true)
		switch r.peek() {
		case ',':
			r.at++
		case ']':
		default:
			return nil, errors.New("a list has no end")
		}
	}
}

func (r *tomlReader) inline(depth int) (any, error) {
	t := table{}
	r.at++
	if r.skip(false); r.peek() == '}' {
		r.at++
		return t, nil
	}
	for {
		if err := r.pair(t, depth+1); err != nil {
			return nil, err
		}
		r.skip(false)
		c := r.peek()
		r.at++
		switch c {
		case '}':
			return t, nil
		case ',':
		default:
			return nil, errors.New("a table has no end")
		}
	}
}

// quoted reads a string of any of the four kinds.
func (r *tomlReader) quoted() (string, error) {
	quote := r.text[r.at : r.at+1]
	long := strings.HasPrefix(r.text[r.at:], strings.Repeat(quote, 3))
	if long {
		quote = strings.Repeat(quote, 3)
	}
	r.at += len(quote)
	if long && r.peek() == '\n' {
		r.at++
	}
	var b strings.Builder
	for {
		rest := r.text[r.at:]
		switch {
		case rest == "", rest[0] == '\n' && !long:
			return "", errors.New("a string has no end")
		case strings.HasPrefix(rest, quote):
			r.at += len(quote)
			for long && r.peek() == quote[0] && b.Len() < maxFile { // quotes may stand before the end
				b.WriteByte(quote[0])
				r.at++
			}
			return b.String(), nil
		case rest[0] == '\\' && quote[0] == '"':
			if err := r.escape(&b, long); err != nil {
				return "", err
			}
		default:
			b.WriteByte(rest[0])
			r.at++
		}
	}
}

func (r *tomlReader) escape(b *strings.Builder, long bool) error {
	r.at++
	c := r.peek()
	r.at++
	if i := strings.IndexByte(`btnfre"\`, c); i >= 0 && c != 0 {
		b.WriteByte("\b\t\n\f\r\x1b\"\\"[i])
		return nil
	}
	digits := 0
	switch c {
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '\n', ' ', '\t':
		if long {
			for c := r.peek(); c == '\n' || c == ' ' || c == '\t'; c = r.peek() {
				r.at++
			}
			return nil
		}
	}
	if digits > 0 && r.at+digits <= len(r.text) {
		n, err := strconv.ParseUint(r.text[r.at:r.at+digits], 16, 32)
		if err == nil && utf8.ValidRune(rune(n)) {
			r.at += digits
			b.WriteRune(rune(n))
			return nil
		}
	}
	return errors.New("it is no escape of a string")
}

// skip goes on to what is not blank, and over comments, also to the next lines if asked to.
func (r *tomlReader) skip(ends bool) {
	for {
		switch c := r.peek(); {
		case c == ' ' || c == '\t' || c == '\n' && ends:
			r.at++
		case c == '#':
			for c := r.peek(); c != 0 && c != '\n'; c = r.peek() {
				r.at++
			}
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end: no text has one.
func (r *tomlReader) peek() byte {
	if r.at >= len(r.text) {
		return 0
	}
	return r.text[r.at]
}
