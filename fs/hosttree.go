package fs

import (
	"syscall"

	"github.com/riverlytech/art/sqlvfs"
)

// Tree returns the host's directory for [sqlvfs.Store.KeepHost]: what overlays show of it.
func (h *Host) Tree() sqlvfs.HostTree { return hostTree{h} }

type hostTree struct{ *Host }

var _ sqlvfs.HostTree = hostTree{}

// Describe implements sqlvfs.HostTree.
func (t hostTree) Describe(path string) (*sqlvfs.HostObject, error) {
	attr, fp, err := t.Lstat(path)
	if err != nil {
		return nil, err
	}
	o := &sqlvfs.HostObject{Attr: attr, Fingerprint: fp, Number: fp.Number(t.dev)}
	if attr.IsSymlink() {
		if o.Target, err = t.Readlink(path); err != nil {
			return nil, err
		}
	}
	if o.Xattrs, err = t.Xattrs(path); err != nil {
		return nil, err
	}
	if _, now, err := t.Lstat(path); err != nil || now != fp {
		return nil, syscall.ESTALE
	}
	return o, nil
}

// Names implements sqlvfs.HostTree.
func (t hostTree) Names(path string) (names []string, err error) {
	d, err := t.OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadAll()
	for _, e := range list {
		if sqlvfs.ValidName(e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, err
}

// Inode implements sqlvfs.HostTree.
func (t hostTree) Inode(path string) (mode uint32, ino uint64, err error) {
	attr, fp, err := t.Lstat(path)
	return attr.Mode, fp.Ino, err
}

// Content implements sqlvfs.HostTree.
func (t hostTree) Content(path string) (sqlvfs.HostContent, error) {
	f, err := t.Open(path)
	if err != nil {
		return nil, err
	}
	return hostContent{f}, nil
}

type hostContent struct{ *HostFile }

// Version implements sqlvfs.HostContent.
func (f hostContent) Version() (sqlvfs.Fingerprint, error) {
	_, now, err := f.stat()
	return now, err
}

// HostOf returns the directory of the host that one of some overlays shows as a workspace; nil: none does.
func HostOf(overlays []*Overlay, workspace sqlvfs.Tree) sqlvfs.HostTree {
	for _, o := range overlays {
		if o.host != nil && o.tree() == workspace {
			return o.host.Tree()
		}
	}
	return nil
}
