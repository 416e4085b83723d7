package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// commit is what is needed of one.
type commit struct {
	tree    ID
	parents []ID
	when    int64 // seconds since 1970, by its committer
	subject string
}

// maxSubject bounds a subject, in bytes.
const maxSubject = 1 << 10

// parseCommit reads a commit's lines up to its message.
func parseCommit(data []byte) (c commit, err error) {
	head, message, _ := strings.Cut(string(data), "\n\n")
	c.subject, _, _ = strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	c.subject = strings.Clone(c.subject[:min(len(c.subject), maxSubject)]) // the rest of the object goes
	i := -1
	for line := range strings.SplitSeq(head, "\n") {
		i++
		name, rest, _ := strings.Cut(line, " ")
		id, isID := parseID(rest)
		switch {
		case i == 0 && (name != "tree" || !isID):
			return c, errDamaged
		case name == "tree" && i == 0:
			c.tree = id
		case name == "parent" && i == len(c.parents)+1:
			if !isID {
				return c, errDamaged
			}
			c.parents = append(c.parents, id)
		case name == "committer":
			if fields := strings.Fields(rest); len(fields) > 1 {
				c.when, _ = strconv.ParseInt(fields[len(fields)-2], 10, 64)
			}
		}
	}
	if c.tree.IsZero() {
		return c, errDamaged
	}
	return c, nil
}

// treeEntry is one of a tree.
type treeEntry struct {
	name string
	mode filemode.FileMode
	id   ID
}

// parseTree reads a tree. Names that lead elsewhere, or into a git directory, are none.
func parseTree(data []byte) (list []treeEntry, err error) {
	for len(data) > 0 {
		space, zero := bytes.IndexByte(data, ' '), bytes.IndexByte(data, 0)
		if space < 1 || space > 6 || zero < space || len(data) < zero+21 {
			return nil, errDamaged
		}
		mode, err := strconv.ParseUint(string(data[:space]), 8, 32)
		e := treeEntry{name: string(data[space+1 : zero]), mode: filemode.FileMode(mode)}
		if err != nil || !validPath(e.name) || strings.Contains(e.name, "/") {
			return nil, errDamaged
		}
		copy(e.id[:], data[zero+1:])
		list = append(list, e)
		data = data[zero+21:]
	}
	return list, nil
}

// validPath reports whether git would check out a path: nothing above, nothing in a git directory (verify_path
// in git's read-cache.c).
func validPath(name string) bool {
	if name == "" || len(name) >= 4096 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.ContainsRune(part, 0) {
			return false
		}
	}
	return true
}

func (o *objects) commit(id ID) (commit, error) {
	obj, err := o.read(id, maxMeta)
	if err != nil {
		return commit{}, err
	}
	if obj.kind != plumbing.CommitObject {
		return commit{}, fmt.Errorf("object %s: %w: no commit", id, errDamaged)
	}
	return parseCommit(obj.data)
}

func (o *objects) tree(id ID) ([]treeEntry, error) {
	obj, err := o.read(id, maxMeta)
	if err != nil {
		return nil, err
	}
	if obj.kind != plumbing.TreeObject {
		return nil, fmt.Errorf("object %s: %w: no tree", id, errDamaged)
	}
	return parseTree(obj.data)
}

// closure gathers the objects that the host lacks.
type closure struct {
	*objects
	ctx     context.Context
	want    []ID // what the host lacks, what others refer to before these
	done    map[ID]bool
	commits []ID        // of what the host lacks
	grafted map[ID]bool // commits whose parents the guest does not have, as it says in shallow
	shallow []ID        // those of them that come over
}

func (o *objects) newClosure(ctx context.Context) *closure {
	c := &closure{objects: o, ctx: ctx, done: map[ID]bool{}, grafted: map[ID]bool{}}
	data, _ := readGuest(o.guest, "shallow", maxPacked)
	for line := range strings.Lines(string(data)) {
		if id, ok := parseID(strings.TrimSpace(line)); ok {
			c.grafted[id] = true
		}
	}
	return c
}

// expects says what kind of object is expected; AnyObject: whatever it is.
type expected struct {
	id   ID
	kind plumbing.ObjectType
}

// add adds an object and all that it refers to. What the host has is whole, so the walk ends there. After
// an error, nothing was added.
func (c *closure) add(id ID, kind plumbing.ObjectType) error {
	wants, commits, shallow := len(c.want), len(c.commits), len(c.shallow)
	found, err := c.walk(expected{id, kind})
	if err != nil {
		for _, id := range found {
			delete(c.done, id)
		}
		c.want, c.commits, c.shallow = c.want[:wants], c.commits[:commits], c.shallow[:shallow]
	}
	return err
}

// walk returns what it has found.
func (c *closure) walk(from expected) (found []ID, err error) {
	var todo []expected
	// What is named a million times, and what is not there, must not be remembered as often.
	push := func(e expected) error {
		if c.done[e.id] {
			return nil
		}
		if there, err := c.onHost(e.id); there || err != nil {
			return err
		}
		if err := c.has(e.id); err != nil {
			if errors.Is(err, errMissing) && c.promisor {
				return nil
			}
			return err
		}
		c.done[e.id] = true
		found, todo = append(found, e.id), append(todo, e)
		return nil
	}
	if err := push(from); err != nil {
		return found, err
	}
	for len(todo) > 0 {
		if c.ctx.Err() != nil {
			return found, c.ctx.Err()
		}
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		c.want = append(c.want, e.id)
		if err := c.refersTo(e, push); err != nil {
			return found, err
		}
	}
	return found, nil
}

// refersTo pushes what an object of the guest refers to.
func (c *closure) refersTo(e expected, push func(expected) error) (err error) {
	if e.kind == plumbing.AnyObject {
		if e.kind, err = c.kind(e.id); err != nil {
			return err
		}
	}
	if e.kind == plumbing.BlobObject {
		return nil // its content is looked at when it is imported
	}
	obj, err := c.read(e.id, maxMeta)
	if err != nil {
		return err
	}
	if obj.kind != e.kind {
		return fmt.Errorf("object %s: %w: a %s in the place of a %s", e.id, errDamaged, obj.kind, e.kind)
	}
	refers, err := c.references(e.id, obj)
	if err != nil {
		return fmt.Errorf("object %s: %w", e.id, err)
	}
	for _, r := range refers {
		if err := push(r); err != nil {
			return err
		}
	}
	return nil
}

// references returns what an object names.
func (c *closure) references(id ID, obj object) (list []expected, err error) {
	switch obj.kind {
	case plumbing.CommitObject:
		m, err := parseCommit(obj.data)
		if err != nil {
			return nil, err
		}
		c.commits = append(c.commits, id)
		list = append(list, expected{m.tree, plumbing.TreeObject})
		if c.grafted[id] {
			c.shallow = append(c.shallow, id)
			return list, nil
		}
		for _, p := range m.parents {
			list = append(list, expected{p, plumbing.CommitObject})
		}
	case plumbing.TreeObject:
		entries, err := parseTree(obj.data)
		if err != nil {
			return nil, err
		}
		for _, t := range entries {
			switch t.mode {
			case filemode.Submodule:
			case filemode.Dir:
				list = append(list, expected{t.id, plumbing.TreeObject})
			default:
				list = append(list, expected{t.id, plumbing.BlobObject})
			}
		}
	case plumbing.TagObject:
		target, ok := tagTarget(obj.data)
		if !ok {
			return nil, errDamaged
		}
		list = append(list, expected{target, plumbing.AnyObject})
	}
	return list, nil
}

// tagTarget returns what an annotated tag leads to.
func tagTarget(data []byte) (ID, bool) {
	rest, ok := strings.CutPrefix(string(data), "object ")
	hex, _, _ := strings.Cut(rest, "\n")
	id, is := parseID(hex)
	return id, ok && is
}

// has reports whether the guest has an object, without reading it.
func (c *closure) has(id ID) error {
	if _, made := c.made[id]; made {
		return nil
	}
	if f, err := c.guest.Open("objects/" + loosePath(id)); err == nil {
		f.Close()
		return nil
	}
	if err := c.openPacks(); err != nil {
		return err
	}
	for _, p := range c.packs {
		if ok, err := p.idx.has(id); ok && err == nil {
			return nil
		}
	}
	return fmt.Errorf("object %s: %w", id, errMissing)
}
