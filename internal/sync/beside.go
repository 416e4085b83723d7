package sync

import "golang.org/x/sys/unix"

// besideSuffix is added to the name under which the guest's version is put beside the host's.
const besideSuffix = ".art"

// beside plans to write the guest's version of a file that both sides changed beside the host's. It
// returns false if that cannot be.
func (p *puller) beside(a *action) bool {
	b := *a
	b.path, b.was, b.there, b.beside = a.path+besideSuffix, nil, 0, true
	switch a.do {
	case hardLink:
		b.do, b.other = write, nil
		b.node, b.source, b.version = a.other.node, a.other.source, a.other.version
	case write, symlink:
	default:
		return false
	}
	st, err := p.host.stat(b.path)
	if err == nil {
		p.meet(&b, &st)
		if b.do == symlink {
			return b.there == unix.S_IFLNK && p.sameTarget(&b)
		}
		same, err := p.equal(&b)
		return err == nil && same
	}
	if err != unix.ENOENT || !p.permitted(&b) {
		return false
	}
	p.add(&b)
	return true
}
