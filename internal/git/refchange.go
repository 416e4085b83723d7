package git

import "strings"

// RefChange is what becomes of a reference of the host.
type RefChange struct {
	Name    string
	Old     ID     // what the host has; zero: nothing
	New     ID     // zero: it is deleted
	For     string // the name that the guest has it under, if both sides have moved it
	Rewound bool   // New does not descend from Old

	sym string // it is a name of this one
	was value
}

// Deleted reports whether the reference goes.
func (c RefChange) Deleted() bool { return c.New.IsZero() && c.sym == "" }

// String tells a change as git-fetch(1) does.
func (c RefChange) String() string {
	name := short(c.Name)
	switch {
	case c.sym != "":
		return name + " -> " + short(c.sym)
	case c.New.IsZero():
		return name + " deleted (was " + abbreviated(c.Old) + ")"
	case c.Old.IsZero():
		return name + " new at " + abbreviated(c.New)
	case c.Rewound:
		return name + " " + abbreviated(c.Old) + "..." + abbreviated(c.New)
	}
	return name + " " + abbreviated(c.Old) + ".." + abbreviated(c.New)
}

// short is a reference's name as git shows it.
func short(name string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/remotes/"} {
		if s, ok := strings.CutPrefix(name, prefix); ok {
			return s
		}
	}
	return name
}

func abbreviated(id ID) string { return id.String()[:10] }
