package netledger

import (
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netrule"
)

// mostUsed bounds what is remembered of what was reached, and what is proposed.
const mostUsed = 1000

// Used are the rules that allow what was reached, and nothing else.
type Used struct {
	rules map[string]bool
	More  bool // there were more than are remembered
}

// Reached says whether a flow is a connection that the guest has made.
func Reached(f *control.Flow) bool {
	return !f.Denied && !f.Open && f.Address != "" && f.Port != 0 && f.Protocol == "tcp" && f.What != control.PublishedWhat
}

// Add adds what a flow has reached, if anything. Names are in the place of their addresses.
func (u *Used) Add(f *control.Flow) {
	if !Reached(f) {
		return
	}
	rule, err := netrule.Parse(net.JoinHostPort(f.What, strconv.Itoa(f.Port)))
	if err != nil { // a database may say anything
		return
	}
	if u.rules == nil {
		u.rules = map[string]bool{}
	}
	if text := rule.String(); u.rules[text] || len(u.rules) < mostUsed {
		u.rules[text] = true
	} else {
		u.More = true
	}
}

// Rules are they, sorted.
func (u *Used) Rules() []string { return slices.Sorted(maps.Keys(u.rules)) }

// Proposal is what settings would say of a network that allows some rules and denies others.
func Proposal(allow, deny []string) any {
	type network struct {
		Allow []string `json:"allow"`
		Deny  []string `json:"deny,omitempty"`
	}
	return struct {
		Network network `json:"network"`
	}{network{allow, deny}}
}

// Settings returns the settings that would allow them, as a file has these.
func (u *Used) Settings() (string, error) {
	if len(u.rules) == 0 {
		return "", cli.WithHint(errors.New("propose settings: nothing was reached"), "art run --learn lets a session reach all that is public")
	}
	text, err := json.MarshalIndent(Proposal(u.Rules(), nil), "", "  ")
	return string(text) + "\n", err
}
