package sandbox

import (
	"slices"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/netrule"
)

// addGroups puts rules in the place of groups of them, of a network by name. What the session's preset reaches is among them without
// being asked for: the user has named the agent, which is of no use without. What settings deny is left out, also where a flag takes
// the place of what they allow.
func (o *request) addGroups(s *config.Settings) error {
	if s.Network.Value != config.NetworkNames {
		return nil
	}
	denied, err := netrule.ParseDeny(append(values(s.NetDeny), values(o.denied)...))
	if err != nil {
		return err
	}
	s.NetAllow = slices.DeleteFunc(slices.Clone(s.NetAllow), func(e config.Entry) bool { return e.Value == config.GroupAgent })
	add := func(text, origin string) error {
		r, err := netrule.Parse(text)
		if err == nil && !denied.Denies(r) && !slices.Contains(values(s.NetAllow), text) {
			s.NetAllow = append(s.NetAllow, config.Entry{Value: text, Origin: origin})
		}
		return err
	}
	if o.preset != nil {
		for _, reach := range o.preset.Network {
			for _, host := range reach.Hosts {
				if err := add(host, o.preset.Origin); err != nil {
					return err
				}
			}
		}
	}
	if len(s.NetAllow) == 0 {
		s.Network.Value, s.NetDeny = "none", nil
	}
	return nil
}
