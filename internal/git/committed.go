package git

import (
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"
)

// Original reports whether the guest has at a path what the host has committed there: it has not changed it, though
// git has written it anew.
func (p *Plan) Original(at string, mode uint32, content io.Reader, size int64) bool {
	return p.has(p.co.hAt, &p.co.hTree, at, mode, content, size)
}

// Committed reports whether the guest has at a path of what is checked out exactly what it has committed there: a
// file with a content, or nothing.
func (p *Plan) Committed(at string, mode uint32, content io.Reader, size int64) bool {
	return p.has(p.co.gAt, &p.co.gTree, at, mode, content, size)
}

// HostHas reports whether the host has committed anything at a path of what it has checked out.
func (p *Plan) HostHas(at string) bool {
	return !p.co.hAt.IsZero() && !p.has(p.co.hAt, &p.co.hTree, at, 0, nil, 0)
}

// has reports whether a commit has exactly that at a path. tree is its tree, once it is known.
func (p *Plan) has(commit ID, tree *ID, at string, mode uint32, content io.Reader, size int64) bool {
	if commit.IsZero() {
		return false
	}
	if tree.IsZero() {
		c, err := p.objects.commit(commit)
		if err != nil {
			return false
		}
		*tree = c.tree
	}
	e, ok, err := p.objects.find(*tree, at)
	if err != nil {
		return false
	}
	if mode == 0 {
		return !ok
	}
	want := filemode.Regular
	switch {
	case mode&unix.S_IFMT == unix.S_IFLNK:
		want = filemode.Symlink
	case mode&0o100 != 0:
		want = filemode.Executable
	}
	return ok && e.mode == want && hashBlob(content, size) == e.id
}

// Takes reports whether the index that the plan takes from the guest has another file at a path than the host's.
func (p *Plan) Takes(at string) bool {
	find := func(list []indexEntry) (e indexEntry) {
		i, _ := slices.BinarySearchFunc(list, at, func(e indexEntry, at string) int { return strings.Compare(e.name, at) })
		if i < len(list) && list[i].name == at {
			e = list[i]
		}
		return e
	}
	h, g := find(p.co.hIndex), find(p.co.gIndex)
	return p.Index && !h.same(&g)
}

func hashBlob(content io.Reader, size int64) ID {
	h := plumbing.NewHasher(plumbing.BlobObject, size)
	if _, err := io.Copy(h, content); err != nil {
		return ID{}
	}
	return h.Sum()
}
