package git

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
