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
}

// ParseRules reads both lists. It is an error if nothing is allowed, or one that is allowed is denied as a whole.
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

// Check returns an error if nothing is allowed, or a rule that allows something never does.
func (rs *Rules) Check() error {
	if len(rs.Allow) == 0 {
		return errors.New(`nothing is allowed: that is "none"`)
	}
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
	return !denied && slices.ContainsFunc(rs.Allow, func(r Rule) bool { return r.matchesName(name) })
}

// Name says whether a port of a canonical name may be reached.
func (rs *Rules) Name(name string, port uint16) bool {
	return rs.decide(func(r Rule) bool { return r.matchesName(name) && r.matchesPort(port) })
}

// Address says whether a port of an address may be reached as such, or behind a name although it is private.
func (rs *Rules) Address(a netip.Addr, port uint16) bool {
	a = a.Unmap().WithZone("")
	return rs.decide(func(r Rule) bool { return r.nets.IsValid() && r.nets.Contains(a) && r.matchesPort(port) })
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

func (rs *Rules) decide(matches func(Rule) bool) bool {
	return slices.ContainsFunc(rs.Allow, matches) && !slices.ContainsFunc(rs.Deny, matches)
}

// Allowing returns the rule that allows a port of a name, or, without one, of an address; "" if none does.
func (rs *Rules) Allowing(name string, a netip.Addr, port uint16) string {
	matches := func(r Rule) bool { return r.matchesName(name) && r.matchesPort(port) }
	if name == "" {
		a = a.Unmap().WithZone("")
		matches = func(r Rule) bool { return r.nets.IsValid() && r.nets.Contains(a) && r.matchesPort(port) }
	}
	if i := slices.IndexFunc(rs.Allow, matches); i >= 0 && !slices.ContainsFunc(rs.Deny, matches) {
		return rs.Allow[i].String()
	}
	return ""
}
