package fs

import (
	"errors"
	"strings"
	"syscall"
)

// A directory that the guest makes shows nothing of one that the host makes at the same path later: of what both build or
// install, a mixture would be neither's. Those of git's objects and references are merged all the same, since git reads them
// together with what names them, such as HEAD, which the guest may see of the host. Objects are spread over 256 directories by
// the first two digits of their names (gitrepository-layout(5)), so both sides soon make the same ones; were they opaque, what the
// host commits later would be missing for the guest. Files there do not contradict each other: an object's name tells its content.

// isMergeDir tells whether a directory of the delta at a path of the base is merged with what the base has there.
func isMergeDir(path string) bool {
	if isObjectDir(path) {
		return true
	}
	for _, kind := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		if strings.HasPrefix(path, kind) || strings.Contains(path, "/"+kind) {
			return true
		}
	}
	return false
}

// isObjectDir tells whether a path is one of the directories that git spreads objects over.
func isObjectDir(path string) bool {
	dir, name := dirOf(path), path[strings.LastIndexByte(path, '/')+1:]
	return len(name) == 2 && isHex(name[0]) && isHex(name[1]) && (dir == "objects" || strings.HasSuffix(dir, "/objects"))
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// mergeBase tells whether a directory of the delta that has no origin is merged with what the base has at its place, and
// where that is. The workspace is, too, which may have been made by a push. None is if the guest has removed what was there before.
func (t *tx) mergeBase(p *node, name string) (path string, ok bool, err error) {
	path, ok = t.baseChild(p, name)
	if !ok || path == "." && t.inner || path != "." && !t.mergeDirs(path) {
		return "", false, nil
	}
	white, err := t.db.Hides(p.in, name)
	return path, !white, err
}

// baseAbsent tells whether the base is known to have nothing for a directory of the delta to be merged with. Then it need not
// be asked for each entry: where the parent is watched, an event tells when the host makes something.
func (t *tx) baseAbsent(n *node) (bool, error) {
	if n.in == nil || n.in.Origin != nil || !n.inBase() || n.base.path == "." || n.base.watch != nil {
		return false, nil
	}
	p, name := t.nodes[n.parentIno], n.base.path[strings.LastIndexByte(n.base.path, '/')+1:]
	if p == nil || !p.inBase() || p.base.watch == nil || p.base.path != dirOf(n.base.path) {
		return false, nil
	}
	if child, known := p.base.dentries[name]; known {
		return child == nil, nil
	}
	now, err := t.lstatIn(p, name, n.base.path, nil)
	return err == nil && errors.Is(now.err, syscall.ENOENT) && t.grantTTL(p, name, nil, now.asked) == Forever, err
}

// recordMerges writes down which directories are merged with the base's, before anything in them says what becomes of an entry of
// that. It asks the host, so it comes before a step changes anything. Of the workspace itself everybody knows.
func (t *tx) recordMerges(dirs ...*node) error {
	for _, n := range dirs {
		if n.base == nil || n.base.path == "." {
			continue
		}
		nothing, err := t.baseAbsent(n)
		if err == nil && !nothing {
			err = t.recordOrigin(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reattach has a directory that no origin tells the place of, and those below it, be merged with what the base has where they are now.
// detach takes one out of another place of the base.
func (t *tx) reattach(p *node, name string, n *node, detach func(*node)) error {
	if n.in == nil || !n.in.Attr.IsDir() || n.in.Origin != nil || t.host == nil {
		return nil
	}
	path, ok, err := t.mergeBase(p, name)
	if err != nil || n.base == nil && !ok || n.base != nil && ok && n.base.path == path {
		return err
	}
	if n.base != nil {
		detach(n)
	}
	if ok {
		n.base = &base{path: path}
	}
	t.dropList(n)
	t.pending.inode(n)
	children, err := t.db.Children(n.in)
	if err != nil {
		return err
	}
	for _, c := range children {
		if c.Mode&syscall.S_IFMT != syscall.S_IFDIR {
			continue
		}
		if child := t.liveChild(c); child != nil {
			if err := t.reattach(n, c.Name, child, detach); err != nil {
				return err
			}
		}
	}
	return nil
}

// detachBase is the opposite of attachBase. What the kernel knows of the base's names in the directory it is not told to forget.
func (t *tx) detachBase(dir *node) {
	dir.refs++ // what the base has shown in it may be all that refers to it
	t.abandon(dir)
	t.leaveBase(dir)
	dir.base = nil
	t.release(dir, 1)
}

// abandon has the base's objects that a directory has shown be gone, since the base adds nothing to it any more. It returns their
// names, and those that nothing else shows.
func (t *tx) abandon(dir *node) (names []dentry, gone []*node) {
	for _, n := range t.nodes {
		if n.base == nil || n.base.parent != dir {
			continue
		}
		names = append(names, dentry{dir, n.base.name})
		if dir.base.dentries[n.base.name] == n {
			t.forgetDentry(dir, n.base.name)
		}
		t.setParent(n, nil)
		if n.in == nil {
			n.base.gone, n.base.fresh, n.base.attr.Nlink = true, false, 0
			gone = append(gone, n)
			t.noteRemoved(n)
		}
	}
	return names, gone
}
