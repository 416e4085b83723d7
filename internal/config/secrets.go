package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/netrule"
)

// Secret is a variable whose value the guest does not have: it is sent to some hosts, in one header, in the place of what the guest has.
type Secret struct {
	Name   string
	Hosts  []SecretHost
	Header string // in lower case
	Origin string
}

// SecretHost is where a secret goes.
type SecretHost struct {
	Name string // as it is sent over the network
	Port int
	// Methods and Paths are those of requests that it goes with, paths with what lies below; nil are all.
	Methods, Paths []string
}

// String is the host as settings have it.
func (h SecretHost) String() string {
	if h.Port == defaultPort {
		return h.Name
	}
	return h.Name + ":" + strconv.Itoa(h.Port)
}

const (
	defaultPort   = 443
	defaultHeader = "authorization"
)

// notSecret are headers that are about the connection, or the message (RFC 9110 and 9112).
var notSecret = []string{"connection", "content-encoding", "content-length", "expect", "forwarded", "host", "keep-alive", "range", "te", "trailer",
	"transfer-encoding", "upgrade"}

// secrets reads an object of them, by the names of their variables.
func (n *node) secrets(into *[]Secret) error {
	members, ok := n.value.([]member)
	if !ok {
		return n.unexpected("an object")
	}
	for _, m := range members {
		s := Secret{Name: m.key, Header: defaultHeader, Origin: (&node{file: n.file, line: m.line}).origin()}
		if s.Name == "" || strings.ContainsAny(s.Name, "\x00 ") {
			return m.value.errorf("%q is not a variable's name", s.Name)
		}
		if _, err := variable(m.value, s.Name); err != nil {
			return err
		}
		if err := m.value.object(map[string]func(*node) error{
			"hosts": func(n *node) error { return n.list(func(item *node) error { return item.secretHost(&s.Hosts) }) },
			"header": func(n *node) error {
				text, err := n.text()
				s.Header = strings.ToLower(text)
				if err == nil && (!isToken(text) || slices.Contains(notSecret, s.Header)) {
					err = n.errorf("%q is not a header that a secret can be in", text)
				}
				return err
			},
		}); err != nil {
			return err
		}
		if len(s.Hosts) == 0 {
			return m.value.errorf(`the secret %s goes nowhere: name its "hosts"`, s.Name)
		}
		*into = append(*into, s)
	}
	return nil
}

// secretHost reads a host, or an object with it and what it is limited to.
func (n *node) secretHost(into *[]SecretHost) error {
	h := SecretHost{Port: defaultPort}
	host := func(n *node) error {
		text, err := n.text()
		if err == nil {
			err = h.parse(text)
			if err != nil {
				err = n.errorf("%q: %w", text, err)
			}
		}
		return err
	}
	read := host
	if _, ok := n.value.([]member); ok {
		read = func(n *node) error {
			return n.object(map[string]func(*node) error{
				"host": host,
				"methods": texts(&h.Methods, "a method of HTTP, in capitals", func(s string) bool {
					return isToken(s) && s == strings.ToUpper(s) && s != "CONNECT"
				}),
				"paths": texts(&h.Paths, "the beginning of a path", func(s string) bool {
					return strings.HasPrefix(s, "/") && !strings.ContainsAny(s, "?#%\\; ") && !strings.Contains(s, "//") && !strings.Contains(s+"/", "/./") && !strings.Contains(s+"/", "/../")
				}),
			})
		}
	}
	if err := read(n); err != nil {
		return err
	}
	if h.Name == "" {
		return n.errorf(`the key "host" is missing`)
	}
	*into = append(*into, h)
	return nil
}

// parse reads a name, with a port or without.
func (h *SecretHost) parse(text string) error {
	name, port, found := strings.Cut(text, ":")
	if found {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' {
			return fmt.Errorf("%q is no port", port)
		}
		h.Port = int(n)
	}
	if strings.ContainsAny(name, "*/") {
		return fmt.Errorf("a secret goes to hosts by their whole names, such as api.example.org")
	}
	var err error
	if h.Name, err = netrule.Canonical(name); err != nil {
		return err
	}
	if h.Name == netrule.Host || h.Name == "localhost" || strings.HasSuffix(h.Name, ".localhost") {
		return fmt.Errorf("a secret does not go to the loopback interface")
	}
	return nil
}

// isToken says whether a text is a token of HTTP (RFC 9110, 5.6.2).
func isToken(s string) bool {
	const others = "!#$%&'*+-.^_`|~"
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(others, r)
	}) < 0
}

// covers says whether a secret goes wherever other does, in the same header.
func (s *Secret) covers(other *Secret) bool {
	return s.Name == other.Name && s.Header == other.Header && !slices.ContainsFunc(other.Hosts, func(o SecretHost) bool {
		return !slices.ContainsFunc(s.Hosts, func(h SecretHost) bool { return h.covers(&o) })
	})
}

func (h *SecretHost) covers(o *SecretHost) bool {
	if h.Name != o.Name || h.Port != o.Port || len(h.Methods) > 0 && len(o.Methods) == 0 || len(h.Paths) > 0 && len(o.Paths) == 0 {
		return false
	}
	return !slices.ContainsFunc(o.Methods, func(m string) bool { return len(h.Methods) > 0 && !slices.Contains(h.Methods, m) }) &&
		!slices.ContainsFunc(o.Paths, func(p string) bool {
			return len(h.Paths) > 0 && !slices.ContainsFunc(h.Paths, func(own string) bool {
				rest, ok := strings.CutPrefix(p, own)
				return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(own, "/"))
			})
		})
}

// stackSecrets returns the secrets of two settings that the user trusts as much: of those with one name, upper's.
func stackSecrets(base, upper []Secret) []Secret {
	out := slices.DeleteFunc(slices.Clone(base), func(s Secret) bool {
		return slices.ContainsFunc(upper, func(u Secret) bool { return u.Name == s.Name })
	})
	return append(out, upper...)
}

// secrets returns the user's secrets, those of the workspace in their place where they go to fewer hosts. Any other one of a workspace's
// would send what is the user's where he has not said. None of the user's is left out: the guest would have its value.
func (m *merger) secrets(workspace []Secret) []Secret {
	var allowed []Secret
	for i := range workspace {
		s := &workspace[i]
		narrows := slices.ContainsFunc(m.user.Secrets, func(u Secret) bool { return u.covers(s) })
		if narrows || m.widens(s.setting(), fmt.Sprintf("the secret %s for %s", s.Name, s.where())) {
			allowed = append(allowed, *s)
		}
	}
	return stackSecrets(m.user.Secrets, allowed)
}

// Text is the secret as settings have it, where nothing limits it.
func (s *Secret) Text() string {
	header := ""
	if s.Header != defaultHeader {
		header = fmt.Sprintf(`, "header": %q`, s.Header)
	}
	return fmt.Sprintf(`%q: {"hosts": ["%s"]%s}`, s.Name, strings.ReplaceAll(s.where(), ", ", `", "`), header)
}

// where says where a secret goes.
func (s *Secret) where() string {
	var hosts []string
	for _, h := range s.Hosts {
		hosts = append(hosts, h.String())
	}
	return strings.Join(hosts, ", ")
}

// setting is the secret as it is shown, without its value.
func (s *Secret) setting() Setting {
	var hosts []any
	for _, h := range s.Hosts {
		if h.Methods == nil && h.Paths == nil {
			hosts = append(hosts, h.String())
			continue
		}
		limited := map[string]any{"host": h.String()}
		if h.Methods != nil {
			limited["methods"] = h.Methods
		}
		if h.Paths != nil {
			limited["paths"] = h.Paths
		}
		hosts = append(hosts, limited)
	}
	text := fmt.Sprintf("%q to %s in %s", s.Name, s.where(), s.Header)
	if slices.ContainsFunc(s.Hosts, func(h SecretHost) bool { return h.Methods != nil || h.Paths != nil }) {
		text += ", limited"
	}
	return Setting{"secrets", map[string]any{"name": s.Name, "hosts": hosts, "header": s.Header}, s.Origin, text}
}
