package git

import "crypto/sha256"

// Touched returns the paths below the git directory at which the plan replaces, removes or makes something on the host, or has done so.
// Objects are not among them, nor which commits came without their parents: these are only added, and do no harm to who does not look for
// them.
func (p *Plan) Touched() (paths []string) {
	add := func(at string) { paths = append(paths, in(p.host.own, at)) }
	unpacked := false
	ref := func(name string, deleted bool) {
		add(name)
		if _, packed := p.h.packed[name]; deleted {
			add("logs/" + name)
			unpacked = unpacked || packed
		}
	}
	for _, c := range p.Refs {
		ref(c.Name, c.Deleted())
	}
	if p.stash != nil {
		ref(stashRef, len(p.stash.lines) == 0)
		add("logs/" + stashRef)
	}
	if unpacked {
		add("packed-refs")
	}
	if p.Index {
		add("index")
	}
	if p.Head != "" {
		add("HEAD")
	}
	for _, f := range p.files {
		add(f.name)
	}
	for name := range p.logLines {
		add("logs/" + name)
	}
	return paths
}

// Brought returns the SHA-256 of what the plan has made of a path below the git directory, if that is a reference to an object.
func (p *Plan) Brought(at string) []byte {
	c, ok := p.change(at)
	if !ok || c.New.IsZero() {
		return nil
	}
	return sumOf(c.New)
}

// sumOf returns the SHA-256 of the file of a reference.
func sumOf(id ID) []byte {
	sum := sha256.Sum256([]byte(id.String() + "\n"))
	return sum[:]
}
