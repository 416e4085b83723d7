package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/netrule"
)

// NetworkNames is the network of a guest that reaches some names and nothing else.
const NetworkNames = "names"

// SetNetwork sets the network to what a flag says: host, none, or names between commas.
func (s *Settings) SetNetwork(text, origin string) error {
	s.NetAllow, s.NetDeny = nil, nil
	if text == "host" || text == "none" {
		s.Network = Entry{text, origin}
		return nil
	}
	s.Network = Entry{NetworkNames, origin}
	for rule := range strings.SplitSeq(text, ",") {
		rule, err := allowed(rule)
		if err != nil {
			return fmt.Errorf("it is neither host nor none, and %w", err)
		}
		s.NetAllow = append(s.NetAllow, Entry{rule, origin})
	}
	return nil
}

// network reads host, none, or an object with names.
func (n *node) network(s *Settings) error {
	if _, ok := n.value.([]member); !ok {
		return word(&s.Network, "host", "none")(n)
	}
	allow := func(n *node, text string) (string, error) {
		rule, err := allowed(text)
		if err != nil {
			return "", n.errorf("%w", err)
		}
		return rule, nil
	}
	deny := func(n *node, text string) (string, error) {
		if isGroup(text) {
			return "", n.errorf("%q stands for a group, which can only be allowed: name what of it is denied", text)
		}
		r, err := netrule.Parse(text)
		if err != nil {
			return "", n.errorf("%w", err)
		}
		return r.String(), nil
	}
	err := n.object(map[string]func(*node) error{
		"allow": list(&s.NetAllow, allow), "deny": list(&s.NetDeny, deny),
		"ask": func(n *node) error {
			on, err := n.boolean()
			s.NetAsk = Entry{strconv.FormatBool(on), n.origin()}
			return err
		},
	})
	if err != nil {
		return err
	}
	s.Network = Entry{NetworkNames, n.origin()}
	err = checkRules(entryValues(s.NetAllow), entryValues(s.NetDeny))
	if err == nil && len(s.NetAllow) == 0 && s.NetAsk.Value != "true" {
		err = netrule.ErrNothing
	}
	if err != nil {
		return n.errorf("%q: %w", "network", err)
	}
	return nil
}

func entryValues(entries []Entry) (values []string) {
	for _, e := range entries {
		values = append(values, e.Value)
	}
	return values
}

// network puts a workspace's network in the place of the user's where it is not wider. Of names, those count that the user allows
// too, and what either denies is denied.
func (m *merger) network(out, workspace *Settings) {
	n, own := workspace.Network, m.user.Network.Value
	switch a := workspace.NetAsk; { // who is asked much may say yes some day, to more than names
	case a.Value == "":
	case a.Value == "false", a.Value == m.user.NetAsk.Value, own == "", own == "host", m.widens(a.setting("network.ask"), `"network": {"ask": true}`):
		out.NetAsk = a
	}
	switch {
	case n.Value == "":
	case n.Value == "none", own == "", own == "host":
		out.Network, out.NetAllow, out.NetDeny = n, m.butSockets(workspace.NetAllow), workspace.NetDeny
	case n.Value == "host":
		if own == "host" || m.widens(Setting{"network", n.Value, n.Origin, strconv.Quote(n.Value)}, `"network": "host"`) {
			out.Network, out.NetAllow, out.NetDeny = n, nil, nil
		}
	default:
		m.names(out, workspace)
	}
}

func (m *merger) widensNetwork(e Entry) bool {
	return m.widens(e.setting("network.allow"), `"network": {"allow": [`+strconv.Quote(e.Value)+`]}`)
}

// butSockets returns rules without those of sockets that the user does not trust: these are hidden also where the network is the host's.
func (m *merger) butSockets(allow []Entry) []Entry {
	return slices.DeleteFunc(slices.Clone(allow), func(e Entry) bool {
		return len(netrule.Sockets([]string{e.Value})) > 0 && !m.widensNetwork(e)
	})
}

// names is network for names, where the user's is none or names.
func (m *merger) names(out, workspace *Settings) {
	var allow []Entry
	if len(workspace.NetAllow) == 0 { // it says whether the user is asked, and what is denied: his names stay
		allow = slices.Clone(m.user.NetAllow)
	}
	for _, e := range workspace.NetAllow {
		agent := e.Value == GroupAgent && len(m.user.NetAllow) > 0 // which has it anyway
		if agent || coveredBy(e, m.user.NetAllow) || m.widensNetwork(e) {
			allow = append(allow, e)
		}
	}
	deny := slices.Concat(m.user.NetDeny, workspace.NetDeny)
	allow = slices.DeleteFunc(allow, func(e Entry) bool { return coveredBy(e, deny) })
	if len(allow) == 0 && out.NetAsk.Value != "true" {
		out.Network, out.NetAllow, out.NetDeny = Entry{"none", workspace.Network.Origin}, nil, nil
		return
	}
	out.Network, out.NetAllow, out.NetDeny = workspace.Network, allow, deny
}

// coveredBy says whether one of some rules matches whatever e does. All of them have been read.
func coveredBy(e Entry, by []Entry) bool {
	if isGroup(e.Value) {
		return slices.ContainsFunc(by, func(b Entry) bool { return b.Value == e.Value })
	}
	r, err := netrule.Parse(e.Value)
	return err == nil && slices.ContainsFunc(by, func(b Entry) bool {
		rule, err := netrule.Parse(b.Value)
		return err == nil && rule.Covers(r)
	})
}
