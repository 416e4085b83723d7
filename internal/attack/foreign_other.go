//go:build !amd64

package attack

// foreign are attempts with another architecture's calls. Most processors of this one
// know no other.
func foreign() []Attempt { return nil }
