package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Port is one of the guest's that is reached at one of the host's loopback; 0 there is one that is free.
type Port struct{ Host, Guest int }

// PublishNone is in the place of a port where those of settings are not published.
const PublishNone = "none"

// ParsePort reads GUEST, or HOST:GUEST.
func ParsePort(text string) (p Port, err error) {
	host, guest, two := strings.Cut(text, ":")
	if !two {
		guest = host
	}
	number := func(text string, least int) int {
		n, e := strconv.ParseUint(text, 10, 16)
		if (e != nil || int(n) < least) && err == nil {
			err = fmt.Errorf("%q is no port: write GUEST, or HOST:GUEST where 0 for HOST is one that is free", text)
		}
		return int(n)
	}
	p.Guest = number(guest, 1)
	p.Host = number(host, 0)
	return p, err
}

func (p Port) String() string {
	if p.Host == p.Guest {
		return strconv.Itoa(p.Guest)
	}
	return strconv.Itoa(p.Host) + ":" + strconv.Itoa(p.Guest)
}

// ports reads numbers, and texts as ParsePort does.
func (n *node) ports(into *[]Entry) error {
	*into = []Entry{}
	return n.list(func(item *node) error {
		text, ok := item.value.(string)
		if number, isNumber := item.value.(json.Number); isNumber {
			text, ok = number.String(), true
		}
		if !ok {
			return item.unexpected("a port")
		}
		p, err := ParsePort(text)
		if err != nil {
			return item.errorf("%w", err)
		}
		*into = append(*into, Entry{p.String(), item.origin()})
		return nil
	})
}

// publish returns the user's ports, and of a workspace's those that he has too, or trusts: who has one on the host has others
// there reach what runs in the session, and takes that port from them.
func (m *merger) publish(workspace []Entry) []Entry {
	out := slices.Clone(m.user.Publish)
	for _, e := range workspace {
		if !slices.ContainsFunc(out, func(u Entry) bool { return u.Value == e.Value }) &&
			m.widens(e.setting("publish"), fmt.Sprintf(`"publish": [%q]`, e.Value)) {
			out = append(out, e)
		}
	}
	return out
}
