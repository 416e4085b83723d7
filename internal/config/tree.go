package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// node is a JSON value that knows where it stands.
type node struct {
	file string
	line int    // from 1
	key  string // of an object, whose value it is
	// value is a string, json.Number, bool, nil, []*node or []member.
	value any
}

// member is a key of an object, with its value.
type member struct {
	key   string
	line  int
	value *node
}

// parse reads exactly one JSON value. A key that comes twice in an object is an
// error: of two, readers differ in which one counts.
func parse(file string, text []byte) (*node, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: it is not UTF-8, which JSON is made of", file)
	}
	// The decoder below takes what it is given token by token, and forgives more.
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		var syntax *json.SyntaxError
		line := 1
		if errors.As(err, &syntax) {
			line = lineAt(text, syntax.Offset)
		}
		return nil, fmt.Errorf("%s:%d: %s", file, line, strings.TrimPrefix(err.Error(), "json: "))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	p := &parser{file: file, text: text, d: d}
	return p.next()
}

type parser struct {
	file string
	text []byte
	d    *json.Decoder

	counted, line int // how much of the text is counted, and its lines
}

// lineHere returns the line at which the decoder is. It counts on from the last: to count from the beginning for each
// value would take time that grows with the square of the text.
func (p *parser) lineHere() int {
	at := min(int(p.d.InputOffset()), len(p.text))
	p.line += bytes.Count(p.text[p.counted:at], []byte("\n"))
	p.counted = at
	return 1 + p.line
}

// next reads the next value; the syntax is known to be right.
func (p *parser) next() (*node, error) {
	token, err := p.d.Token()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.file, err)
	}
	n := &node{file: p.file, line: p.lineHere()}
	switch token {
	case json.Delim('['):
		items := []*node{}
		for p.d.More() {
			item, err := p.next()
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		n.value = items
	case json.Delim('{'):
		members, err := p.members()
		if err != nil {
			return nil, err
		}
		n.value = members
	default:
		n.value = token
		return n, nil
	}
	_, err = p.d.Token() // the closing bracket
	return n, err
}

func (p *parser) members() ([]member, error) {
	members := []member{}
	seen := map[string]bool{}
	for p.d.More() {
		key, err := p.next()
		if err != nil {
			return nil, err
		}
		name, _ := key.value.(string)
		if seen[name] {
			return nil, key.errorf("the key %q comes twice", name)
		}
		seen[name] = true
		value, err := p.next()
		if err != nil {
			return nil, err
		}
		value.key = name
		members = append(members, member{name, key.line, value})
	}
	return members, nil
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}

// errorf returns an error that says where.
func (n *node) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", n.origin(), fmt.Errorf(format, args...))
}

// unexpected returns the error of another kind of value than what is wanted.
func (n *node) unexpected(want string) error {
	at := ""
	if n.key != "" {
		at = fmt.Sprintf("%q: ", n.key)
	}
	return n.errorf("%s%s stands where %s is expected", at, n.kind(), want)
}

func (n *node) origin() string { return fmt.Sprintf("%s:%d", n.file, n.line) }

// object calls for each key the function of that name.
func (n *node) object(keys map[string]func(*node) error) error {
	members, ok := n.value.([]member)
	if !ok {
		return n.unexpected("an object")
	}
	for _, m := range members {
		read, ok := keys[m.key]
		if !ok {
			where := &node{file: n.file, line: m.line}
			return where.errorf("unknown key %q: did you mean %q?", m.key, nearest(m.key, names(keys)))
		}
		if err := read(m.value); err != nil {
			return err
		}
	}
	return nil
}

// member returns the value of a key of an object, or nil.
func (n *node) member(key string) *node {
	members, _ := n.value.([]member)
	for _, m := range members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func (n *node) list(each func(*node) error) error {
	items, ok := n.value.([]*node)
	if !ok {
		return n.unexpected("a list")
	}
	for _, item := range items {
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}

// text returns a string that is not empty and has no NUL, which paths and
// variables cannot have.
func (n *node) text() (string, error) {
	s, ok := n.value.(string)
	switch {
	case !ok:
		return "", n.unexpected("a string")
	case s == "" || strings.ContainsRune(s, 0):
		return "", n.errorf("%q is empty or holds a NUL character", s)
	}
	return s, nil
}

func (n *node) boolean() (bool, error) {
	b, ok := n.value.(bool)
	if !ok {
		return false, n.unexpected("true or false")
	}
	return b, nil
}

// word returns a string that is one of words.
func (n *node) word(words ...string) (string, error) {
	s, err := n.text()
	if err != nil {
		return "", err
	}
	for _, w := range words {
		if s == w {
			return s, nil
		}
	}
	return "", n.errorf("unknown value %q: did you mean %q?", s, nearest(s, words))
}

func (n *node) kind() string {
	switch n.value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case []*node:
		return "a list"
	case []member:
		return "an object"
	}
	return "null"
}
