package netrule

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Rules are what a guest may reach: what Allow matches and Deny does not.
type Rules struct {
	Allow, Deny []Rule
	// Local are of names that may be at addresses of local networks: the user has said that something of his is there.
	Local []Rule
	// Public allows every name but the host's, and every address of the Internet.
	Public bool
}

// ErrNothing is that no rule allows anything.
var ErrNothing = errors.New(`nothing is allowed: that is "none"`)

// AllPublic is what Allowing returns for what Public alone allows.
const AllPublic = "all that is public"

// ParseRules reads both lists. It is an error if one that is allowed is denied as a whole.
func ParseRules(allow, deny []string) (*Rules, error) {
	rs, err := ParseDeny(deny)
	if err == nil {
		rs.Allow, err = parseAll(allow)
	}
	if err != nil {
		return nil, err
	}
	return rs, rs.Check()
}

// ParseDeny reads rules that deny, where nothing is known of those that allow.
func ParseDeny(deny []string) (*Rules, error) {
	rules, err := parseAll(deny)
	return &Rules{Deny: rules}, err
}

func parseAll(texts []string) (rules []Rule, err error) {
	for _, text := range texts {
		r, err := Parse(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// MayBeLocal lets names be at addresses of local networks.
func (rs *Rules) MayBeLocal(names []string) (err error) {
	rs.Local, err = parseAll(names)
	return err
}

// Check returns an error if a rule that allows something never does.
func (rs *Rules) Check() error {
	for _, a := range rs.Allow {
		if i := slices.IndexFunc(rs.Deny, func(d Rule) bool { return d.Covers(a) }); i >= 0 {
			return fmt.Errorf("%q never matches: %q is denied", a, rs.Deny[i])
		}
	}
	return nil
}

// KnowsName says whether a canonical name is to be had on some port.
func (rs *Rules) KnowsName(name string) bool {
	denied := slices.ContainsFunc(rs.Deny, func(r Rule) bool { return r.port == 0 && r.matchesName(name) })
	return !denied && (rs.Public && name != Host || slices.ContainsFunc(rs.Allow, func(r Rule) bool { return r.matchesName(name) }))
}

// Has says whether a rule is among those that allow something.
func (rs *Rules) Has(r Rule) bool { return slices.Contains(rs.Allow, r) }

// Covers says whether all that a rule is about is allowed by another one.
func (rs *Rules) Covers(r Rule) bool {
	return slices.ContainsFunc(rs.Allow, func(a Rule) bool { return a.Covers(r) })
}

// With returns the rules with one more that allows something.
func (rs *Rules) With(r Rule) *Rules {
	more := *rs
	more.Allow = append(slices.Clip(rs.Allow), r)
	return &more
}

// Name says whether a port of a canonical name may be reached.
func (rs *Rules) Name(name string, port uint16) bool {
	return rs.decide(rs.Public && name != Host, func(r Rule) bool { return r.matchesName(name) && r.matchesPort(port) })
}

// Address says whether a port of an address may be reached as such, or behind a name although it is private.
func (rs *Rules) Address(a netip.Addr, port uint16) bool {
	a = a.Unmap().WithZone("")
	return rs.decide(rs.Public && Public(a), func(r Rule) bool { return r.nets.IsValid() && r.nets.Contains(a) && r.matchesPort(port) })
}

// Named is Address by a rule that names it.
func (rs *Rules) Named(a netip.Addr, port uint16) bool {
	a = a.Unmap().WithZone("")
	return rs.decide(false, func(r Rule) bool { return r.nets.IsValid() && r.nets.Contains(a) && r.matchesPort(port) })
}

// At says whether a port of a name that may be reached may be reached at an address of it.
func (rs *Rules) At(name string, a netip.Addr, port uint16) bool {
	a = a.Unmap()
	return rs.Address(a, port) || !rs.Denied(a, port) &&
		(Public(a) || Local(a) && slices.ContainsFunc(rs.Local, func(r Rule) bool { return r.matchesName(name) && r.matchesPort(port) }))
}

// Denied says whether an address is denied, behind a name too.
func (rs *Rules) Denied(a netip.Addr, port uint16) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(rs.Deny, func(r Rule) bool { return r.nets.IsValid() && r.nets.Contains(a) && r.matchesPort(port) })
}

// Denies says whether all that a rule is about is denied.
func (rs *Rules) Denies(r Rule) bool {
	return slices.ContainsFunc(rs.Deny, func(d Rule) bool { return d.Covers(r) })
}

func (rs *Rules) decide(public bool, matches func(Rule) bool) bool {
	return (public || slices.ContainsFunc(rs.Allow, matches)) && !slices.ContainsFunc(rs.Deny, matches)
}

// Allowing returns the rule that allows a port of a name, or, without one, of an address; "" if none does.
func (rs *Rules) Allowing(name string, a netip.Addr, port uint16) string {
	public := name != "" && name != Host || name == "" && Public(a)
	matches := func(r Rule) bool { return r.matchesName(name) && r.matchesPort(port) }
	if name == "" {
		a = a.Unmap().WithZone("")
		matches = func(r Rule) bool { return r.nets.IsValid() && r.nets.Contains(a) && r.matchesPort(port) }
	}
	i := slices.IndexFunc(rs.Allow, matches)
	switch {
	case slices.ContainsFunc(rs.Deny, matches):
		return ""
	case i >= 0:
		return rs.Allow[i].String()
	case rs.Public && public:
		return AllPublic
	}
	return ""
}
