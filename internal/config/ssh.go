package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SSHPort is that of SSH where nothing else is said.
const SSHPort = 22

// SSH is what a guest may log in to, with the keys of the user's agent.
type SSH struct {
	// Hosts are whole names, with a port where that is not SSHPort.
	Hosts []Entry
	// Keys are fingerprints (SHA256:...) or comments of keys; nil are all.
	Keys []Entry
}

// ssh reads an object of hosts and keys.
func (n *node) ssh(s *SSH) error {
	host := func(n *node, text string) (string, error) {
		h := SecretHost{Port: SSHPort}
		if err := h.parse(text); err != nil {
			return "", n.errorf("%q: %w", text, err)
		}
		if h.Port == SSHPort {
			return h.Name, nil
		}
		return h.Name + ":" + strconv.Itoa(h.Port), nil
	}
	key := func(_ *node, text string) (string, error) { return text, nil }
	if err := n.object(map[string]func(*node) error{"hosts": list(&s.Hosts, host), "keys": list(&s.Keys, key)}); err != nil {
		return err
	}
	if len(s.Hosts) == 0 {
		return n.errorf(`"ssh": it leads nowhere: name its "hosts"`)
	}
	if s.Keys != nil && len(s.Keys) == 0 {
		return n.errorf(`"ssh": it has no keys: leave "keys" out for all`)
	}
	return nil
}

// ssh returns what the user allows of SSH, or less where the workspace says so.
func (m *merger) ssh(workspace *SSH) SSH {
	own := m.user.SSH
	if len(workspace.Hosts) == 0 {
		return own
	}
	out := SSH{Keys: own.Keys}
	wider := func(key string, e Entry, allowed []Entry) bool {
		return !slices.ContainsFunc(allowed, func(a Entry) bool { return a.Value == e.Value }) &&
			!m.widens(e.setting("ssh."+key), fmt.Sprintf(`"ssh": {%q: [%q]}`, key, e.Value))
	}
	for _, e := range workspace.Hosts {
		if !wider("hosts", e, own.Hosts) {
			out.Hosts = append(out.Hosts, e)
		}
	}
	if workspace.Keys == nil {
		return out
	}
	out.Keys = []Entry{}
	for _, e := range workspace.Keys {
		if len(own.Hosts) > 0 && own.Keys == nil || !wider("keys", e, own.Keys) {
			out.Keys = append(out.Keys, e)
		}
	}
	return out
}

// Addresses returns the hosts with their ports.
func (s *SSH) Addresses() (list []string) {
	for _, e := range s.Hosts {
		if !strings.Contains(e.Value, ":") {
			list = append(list, e.Value+":"+strconv.Itoa(SSHPort))
		} else {
			list = append(list, e.Value)
		}
	}
	return list
}
