// Package dotenv reads files of variables, .env, plain or encrypted value by value
// as dotenvx does it.
//
// Nothing in such a file is run or looked up: a reference to another variable or
// to a command's output is an error where other readers would follow it.
package dotenv

import (
	"fmt"
	"strings"
)

// Variable is one of a file.
type Variable struct {
	Name, Value string
	// Line is where it stands, from 1.
	Line int
}

// Parse reads the text of a file that is called name in errors, which hold no
// value. Of two variables with one name the later counts.
func Parse(name string, text string) ([]Variable, error) {
	p := &parser{rest: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), line: 1}
	var vars []Variable
	for p.rest != "" {
		line := p.line
		v, err := p.next()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if v.Name != "" {
			vars = append(vars, v)
		}
	}
	return vars, nil
}

type parser struct {
	rest string
	line int // of rest
}

// next reads a line, or as many as a quoted value has.
func (p *parser) next() (Variable, error) {
	line, _, _ := strings.Cut(p.rest, "\n")
	text := strings.TrimSpace(line)
	if text == "" || text[0] == '#' {
		p.skip(len(line))
		return Variable{}, nil
	}
	if after, ok := strings.CutPrefix(text, "export"); ok && strings.TrimLeft(after, " \t") != after {
		text = strings.TrimLeft(after, " \t")
	}
	name, after, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || !isName(name) {
		return Variable{}, fmt.Errorf("it is not of the form NAME=VALUE")
	}
	v := Variable{Name: name, Line: p.line}
	start := len(line) - len(strings.TrimLeft(line[strings.IndexByte(line, '=')+1:], " \t"))
	p.rest = p.rest[start:]
	if after = strings.TrimSpace(after); after != "" && strings.IndexByte("'\"`", after[0]) >= 0 {
		value, err := p.quoted()
		v.Value = value
		return v, err
	}
	// The rest of the line, up to a comment.
	line, _, _ = strings.Cut(p.rest, "\n")
	value, _, _ := strings.Cut(line, "#")
	p.skip(len(line))
	var err error
	v.Value, err = literal(strings.TrimSpace(value))
	return v, err
}

// quoted reads a value that begins with a quotation mark, and what is left of the
// line after it, which may be a comment.
func (p *parser) quoted() (string, error) {
	quote := p.rest[0]
	end := 1
	for end < len(p.rest) && p.rest[end] != quote {
		if p.rest[end] == '\\' && quote == '"' {
			end++
		}
		end++
	}
	if end >= len(p.rest) {
		return "", fmt.Errorf("the quotation mark %c is not closed", quote)
	}
	value := p.rest[1:end]
	line, _, _ := strings.Cut(p.rest[end+1:], "\n")
	if tail := strings.TrimSpace(line); tail != "" && tail[0] != '#' {
		return "", fmt.Errorf("something follows the closing %c", quote)
	}
	if quote != '\'' {
		var err error
		if value, err = literal(value); err != nil {
			return "", err
		}
	}
	if quote == '"' {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(value)
	}
	p.line += strings.Count(p.rest[:end], "\n")
	p.rest = p.rest[end+1:]
	p.skip(len(line))
	return value, nil
}

// skip leaves out n bytes and the end of the line after them.
func (p *parser) skip(n int) {
	p.rest = p.rest[n:]
	if p.rest != "" {
		p.rest = p.rest[1:]
		p.line++
	}
}

// literal returns value with \$ made into $. Other readers would put something
// else in the place of a $ that begins a name, a brace or a parenthesis.
func literal(value string) (string, error) {
	for i := range len(value) {
		if value[i] != '$' || i > 0 && value[i-1] == '\\' || i+1 == len(value) {
			continue
		}
		if c := value[i+1]; c == '{' || c == '(' || isName(string(c)) {
			return "", fmt.Errorf("variables and commands are not expanded: write \\$, or put the value in single quotes")
		}
	}
	return strings.ReplaceAll(value, `\$`, "$"), nil
}

// isName says whether s is the name of a variable (environ(7)).
func isName(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}
