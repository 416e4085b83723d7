package config

import (
	"slices"

	"github.com/riverlytech/art/internal/netrule"
)

// Groups stand in the place of rules that allow something. What they are is found at the start of a session.
const (
	// GroupAgent is what the session's preset reaches, which each network by name allows.
	GroupAgent = "agent"
	// GroupPackages is what the package managers of the user are configured to use.
	GroupPackages = "packages"
)

func isGroup(text string) bool { return text == GroupAgent || text == GroupPackages }

// allowed reads a rule that allows something, or a group of them, and returns it as it can be read again.
func allowed(text string) (string, error) {
	if isGroup(text) {
		return text, nil
	}
	r, err := netrule.Parse(text)
	return r.String(), err
}

// checkRules returns an error if a rule that is allowed is denied as a whole. Of groups nothing is known yet.
func checkRules(allow, deny []string) error {
	_, err := netrule.ParseRules(slices.DeleteFunc(slices.Clone(allow), isGroup), deny)
	return err
}

// Reach are hosts that a program reaches, and where that is documented.
type Reach struct {
	Hosts  []string // rules of package netrule
	Source string
}

// reaches reads such hosts.
func (p *Preset) reaches(n *node) error {
	return n.list(func(item *node) error {
		var r Reach
		host := func(n *node) error {
			text, err := n.text()
			if err != nil {
				return err
			}
			rule, err := netrule.Parse(text)
			if err != nil {
				return n.errorf("%w", err)
			}
			if rule.Socket() != "" {
				return n.errorf("%q is no host", text)
			}
			r.Hosts = append(r.Hosts, rule.String())
			return nil
		}
		err := item.object(map[string]func(*node) error{
			"hosts": func(n *node) error { return n.list(host) }, "source": text(&r.Source),
		})
		if err == nil && len(r.Hosts) == 0 {
			err = item.errorf(`the key "hosts" is missing`)
		}
		p.Network = append(p.Network, r)
		return err
	})
}
