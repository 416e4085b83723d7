package sync

import "golang.org/x/sys/unix"

// besideSuffix is added to the name under which the guest's version is put beside the host's.
const besideSuffix = ".art"

// beside plans to write the guest's version of a file that both sides changed beside the host's. It
// returns false if that cannot be.
func (p *puller) beside(a *item) bool {
	b := *a
	b.path, b.was, b.there, b.conflict, b.instead = a.path+besideSuffix, nil, 0, "", nil
	if a.gone() || a.attr.IsDir() {
		return false
	}
	st, err := p.host.stat(b.path)
	if err == nil {
		p.meet(&b, &st)
		same, err := p.equal(&b)
		return err == nil && same
	}
	if err != unix.ENOENT {
		return false
	}
	p.classify(&b)
	do := write
	if b.attr.IsSymlink() {
		do = symlink
	}
	if !p.permitted(&b) {
		return false
	}
	if p.lost(&b) {
		if !b.node.Holds {
			return false
		}
		p.besideInPart(&b)
	}
	p.plan(&b, &operation{do: do, beside: a})
	p.items = append(p.items, &b)
	return !b.left
}
