package netrule

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	socketPrefix = "unix:"
	// longestSocket is how long the path in an address may be: what unix(7) has room for, and the zero behind it.
	longestSocket = 107
)

// Socket returns the path of the host's socket that the rule is about, absolute and clean, or "" if it is about a network.
func (r Rule) Socket() string { return r.socket }

// parseSocket reads unix: and a path. What is there is not looked at.
func parseSocket(text string) (Rule, error) {
	path := strings.TrimPrefix(text, socketPrefix)
	fail := func(why string) (Rule, error) { return Rule{}, fmt.Errorf("%q is no socket: %s", text, why) }
	switch {
	case strings.HasPrefix(path, "@"), strings.HasPrefix(path, "\x00"):
		return fail("one without a file, whose name begins so, belongs to a network, and is not shown")
	case !filepath.IsAbs(path):
		return fail("name its absolute path, as in unix:/run/postgresql/.s.PGSQL.5432")
	case !utf8.ValidString(path), strings.ContainsFunc(path, unicode.IsControl), strings.Contains(path, ","):
		return fail("a path with a comma, or with what cannot be printed, is not taken")
	}
	if path = filepath.Clean(path); len(path) > longestSocket {
		return fail(fmt.Sprintf("no address has a path of more than %d bytes", longestSocket))
	}
	return Rule{socket: path}, nil
}

// Sockets returns the paths of sockets in rules, of which those that cannot be read are left out.
func Sockets(texts []string) (found []string) {
	for _, text := range texts {
		if r, err := Parse(text); err == nil && r.socket != "" {
			found = append(found, r.socket)
		}
	}
	return found
}
