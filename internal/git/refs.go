package git

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxRef    = 4 << 10  // bytes of a reference's file
	maxPacked = 64 << 20 // bytes of packed-refs
	maxRefs   = 1 << 20
	maxDepth  = 64 // directories in refs
)

// value is what a reference is: an object, or the name of another reference.
type value struct {
	id  ID
	sym string
}

func (v value) String() string {
	if v.sym != "" {
		return "ref: " + v.sym
	}
	return v.id.String()
}

// parseRef reads a reference's file (gitrepository-layout(5)).
func parseRef(data []byte) (value, bool) {
	text := strings.TrimRight(string(data), " \t\r\n")
	if sym, ok := strings.CutPrefix(text, "ref:"); ok {
		sym = strings.TrimLeft(sym, " \t")
		return value{sym: sym}, validRef(sym)
	}
	if len(text) > 40 && (text[40] == ' ' || text[40] == '\t') { // FETCH_HEAD and the like have more
		text = text[:40]
	}
	id, ok := parseID(text)
	return value{id: id}, ok
}

func parseID(text string) (ID, bool) {
	if len(text) != 40 || strings.ToLower(text) != text || !plumbing.IsHash(text) {
		return ID{}, false
	}
	return plumbing.NewHash(text), true
}

// validRef reports whether a reference below refs/ can have a name (git-check-ref-format(1)).
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || name == "refs/heads/HEAD" || len(name) > 1024 || strings.Contains(name, "..") || path.Clean(name) != name {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") || len(part) > 240 {
			return false
		}
	}
	return plumbing.ReferenceName(name).Validate() == nil
}

// ours reports whether a reference is one that comes and goes. Of those that are a worktree's own, none does;
// and one below refs/replace has git show other objects than there are.
func ours(name string) bool {
	for _, p := range []string{"refs/bisect/", "refs/rewritten/", "refs/worktree/", "refs/replace/", "refs/stash"} {
		if name == p || strings.HasPrefix(name, p) {
			return false
		}
	}
	return validRef(name)
}

// parsePacked reads packed-refs.
func parsePacked(data []byte) map[string]value {
	refs := map[string]value{}
	s := bufio.NewScanner(bytes.NewReader(data))
	for s.Scan() && len(refs) < maxRefs {
		hex, name, ok := strings.Cut(s.Text(), " ")
		if id, is := parseID(hex); ok && is && validRef(name) {
			refs[name] = value{id: id}
		}
	}
	return refs
}

// hostRefs are the host's references: those that have a file, and those of packed-refs, which count where
// there is no file.
type hostRefs struct{ loose, packed map[string]value }

func (r *hostRefs) at(name string) (value, bool) {
	v, ok := r.loose[name]
	if !ok {
		v, ok = r.packed[name]
	}
	return v, ok
}

// readRefs reads all references of the host.
func (h *hostDir) readRefs() (*hostRefs, error) {
	packed, err := h.read("packed-refs", maxPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := &hostRefs{map[string]value{}, parsePacked(packed)}
	return r, h.walkRefs("refs", 0, r.loose)
}

func (h *hostDir) walkRefs(dir string, depth int, refs map[string]value) error {
	entries, err := h.list(dir)
	if err != nil || depth > maxDepth {
		return err
	}
	for _, e := range entries {
		at := dir + "/" + e.Name
		if e.Dir {
			if err := h.walkRefs(at, depth+1, refs); err != nil {
				return err
			}
			continue
		}
		if !validRef(at) {
			continue
		}
		data, err := h.read(at, maxRef)
		if err != nil {
			return err
		}
		if v, ok := parseRef(data); ok {
			refs[at] = v
		}
	}
	return nil
}

// readRef reads one reference of the host, or HEAD.
func (h *hostDir) readRef(name string) (value, bool, error) {
	data, err := h.read(name, maxRef)
	if err == nil {
		v, ok := parseRef(data)
		if !ok {
			err = errDamaged
		}
		return v, ok, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return value{}, false, err
	}
	packed, err := h.read("packed-refs", maxPacked)
	if errors.Is(err, fs.ErrNotExist) {
		return value{}, false, nil
	}
	v, ok := parsePacked(packed)[name]
	return v, ok, err
}

// guestRefs are the guest's references.
type guestRefs struct {
	own    map[string]value // that it has itself, one file each
	hidden map[string]bool  // paths of the host's that it hides, with all below
	opaque map[string]bool  // directories of which it shows nothing of the host's
	packed map[string]value // of its own packed-refs; nil: it has none
	bad    []string         // files that no reference is in
}

func readGuestRefs(g Guest) (*guestRefs, error) {
	r := &guestRefs{own: map[string]value{}, hidden: map[string]bool{}, opaque: map[string]bool{}}
	if err := r.walk(g, "refs", 0); err != nil {
		return nil, err
	}
	data, err := readGuest(g, "packed-refs", maxPacked)
	if err == nil {
		r.packed = parsePacked(data)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return r, nil
}

func (r *guestRefs) walk(g Guest, dir string, depth int) error {
	l, err := g.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || depth > maxDepth || len(r.own) > maxRefs {
		return err
	}
	r.opaque[dir] = l.Opaque
	for _, name := range l.Hidden {
		r.hidden[dir+"/"+name] = true
	}
	for _, e := range l.Own {
		at := dir + "/" + e.Name
		if e.Dir {
			if err := r.walk(g, at, depth+1); err != nil {
				return err
			}
			continue
		}
		if strings.HasSuffix(e.Name, ".lock") {
			continue
		}
		data, err := readGuest(g, at, maxRef)
		if err != nil && !errors.Is(err, errLarge) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if v, ok := parseRef(data); ok && validRef(at) {
			r.own[at] = v
		} else {
			r.bad = append(r.bad, at)
		}
	}
	return nil
}

// shows reports whether the guest sees the host's file of a reference.
func (r *guestRefs) shows(name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		if r.hidden[at] || r.opaque[path.Dir(at)] {
			return false
		}
	}
	return true
}

// at returns the guest's value of a reference, given the host's.
func (r *guestRefs) at(name string, h *hostRefs) (value, bool) {
	if v, ok := r.own[name]; ok {
		return v, true
	}
	if v, ok := h.loose[name]; ok && r.shows(name) {
		return v, true
	}
	packed := h.packed
	if r.packed != nil {
		packed = r.packed
	}
	v, ok := packed[name]
	return v, ok
}

// changed reports whether the guest has references of its own, or has removed some.
func (r *guestRefs) changed() bool {
	opaque := false
	for _, o := range r.opaque {
		opaque = opaque || o
	}
	return len(r.own) > 0 || len(r.hidden) > 0 || r.packed != nil || opaque
}

// readGuest returns the content of a file that the guest itself has.
func readGuest(g Guest, at string, limit int64) ([]byte, error) {
	f, err := g.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > limit {
		return nil, errLarge
	}
	data := make([]byte, f.Size())
	n, err := f.ReadAt(data, 0)
	if n == len(data) || errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
