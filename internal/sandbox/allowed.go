package sandbox

import (
	"slices"
)

// Allowed returns what the settings of the session that o asks for allow its guest
// beyond the default: options of package seccomp, and "network host". It is an error if
// there could be no such session.
func Allowed(o *Options) ([]string, error) {
	s, root, err := settle(o)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := checkLimits(o, s.Limits); err != nil {
		return nil, err
	}
	allowed := slices.Clone(values(s.Allow))
	if s.Network.Value == "host" {
		allowed = append(allowed, "network host")
	}
	return allowed, nil
}
