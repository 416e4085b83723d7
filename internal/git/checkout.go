package git

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"
)

// checkout is what each side has checked out: HEAD, where that leads, and the index.
type checkout struct {
	h, g     value // HEAD
	hAt, gAt ID    // the commit; zero: none yet
	hIndex   []indexEntry
	hRoot    ID
	gIndex   []indexEntry // the guest's own; the host's where it has none
	own      bool         // it has one
	indexWas []byte       // of the host
	gTree    ID           // of gAt
	hTree    ID           // of hAt
	hDoing   string       // what the host is in the middle of
	bad      string       // why the guest's index cannot be taken
	stale    bool         // the host's moved under the guest's, which still shows it
	undoes   string       // a file of the host's newer commits that a commit of the guest's takes back
}

// stateFile is a file at the top of a git directory that says what git is in the middle of, or was.
type stateFile struct {
	name string
	data []byte // nil: it is removed
	was  []byte // what the host has; nil: nothing
}

// inProgress are the marks of what git is in the middle of. Those whose files tell git which commands to run
// never come over.
var inProgress = []struct {
	name, what string
	commands   bool
}{
	{"rebase-merge", "a rebase", true}, {"rebase-apply", "a rebase", true}, {"sequencer", "a series of commits", true},
	{"MERGE_HEAD", "a merge", false}, {"CHERRY_PICK_HEAD", "a cherry-pick", false}, {"REVERT_HEAD", "a revert", false}, {"BISECT_LOG", "a bisection", true},
}

// stateNames are the files that come with HEAD and the index.
var stateNames = []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE", "SQUASH_MSG", "ORIG_HEAD"}

const maxState = 1 << 20 // bytes of such a file

// readCheckout reads what both sides have checked out.
func (p *Plan) readCheckout() error {
	co := &p.co
	var err error
	var ok bool
	if co.h, ok, err = p.host.readRef("HEAD"); err != nil || !ok {
		return errors.Join(errors.New("HEAD"), err)
	}
	co.g = co.h
	data, err := readGuest(p.guest, "HEAD", maxRef)
	if err == nil {
		if co.g, ok = parseRef(data); !ok {
			p.leave("HEAD of the guest is damaged")
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if co.g.sym == "refs/heads/.invalid" {
		return ErrUnknown
	}
	for _, s := range inProgress {
		if p.host.exists(s.name) {
			co.hDoing = s.what
		}
		if what, ours := p.guestHas(s.name); what && ours && s.commands {
			p.leave("the guest is in the middle of " + s.what + ": end it there (for a rebase, git rebase --continue or --abort), and pull again")
			return nil
		}
	}
	co.hAt, co.gAt = resolve(co.h, p.h.at), resolve(co.g, func(n string) (value, bool) { return p.g.at(n, p.h) })
	p.findStale()
	if err := p.readIndexes(); err != nil {
		return err
	}
	return p.findOlder()
}

// guestHas tells whether the guest has something, and whether that is its own.
func (p *Plan) guestHas(name string) (there, own bool) {
	l, err := p.guest.List(".")
	if err != nil {
		return false, false
	}
	if i := slices.IndexFunc(l.Own, func(e Entry) bool { return e.Name == name }); i >= 0 {
		if !l.Own[i].Dir {
			return true, true
		}
		below, err := p.guest.List(name)
		return true, err == nil && len(below.Own) > 0
	}
	if l.Opaque || slices.Contains(l.Hidden, name) {
		return false, true
	}
	return p.host.exists(name), false
}

// leave says why the guest's repository is left as it is.
func (p *Plan) leave(why string) {
	p.Left = true
	p.reasons = append(p.reasons, why)
}

func resolve(v value, at func(string) (value, bool)) ID {
	for range 5 {
		if v.sym == "" {
			return v.id
		}
		next, ok := at(v.sym)
		if !ok {
			return ID{}
		}
		v = next
	}
	return ID{}
}

func (p *Plan) readIndexes() error {
	co := &p.co
	var err error
	co.indexWas, err = p.host.read("index", maxIndex)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		if co.hIndex, co.hRoot, err = decodeIndex(co.indexWas); err != nil {
			co.bad = "the host's index cannot be read: " + err.Error()
		}
	}
	co.gIndex = co.hIndex
	data, err := readGuest(p.guest, "index", maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		co.own = true
		co.gIndex, _, err = decodeIndex(data)
	}
	if err != nil && co.bad == "" {
		co.bad = "the guest's index cannot be read: " + err.Error()
	}
	return nil
}

// decideCheckout decides whether HEAD and the index become the guest's.
func (p *Plan) decideCheckout() error {
	co := &p.co
	hostHead, guestHead := p.movedHead()
	_, branchChanged := p.change(co.h.sym)
	indexChanged := co.own && !sameIndex(co.hIndex, co.gIndex)
	if _, same := p.guest.Same("index"); same {
		indexChanged = false
	}
	if p.Left {
		return nil
	}
	if !guestHead && !indexChanged && !branchChanged && p.diverted[co.h.sym] == "" && !p.broken[co.h.sym] {
		if co.bad != "" && co.own && !strings.HasPrefix(co.bad, "the host's") {
			p.conflict(co.bad + "; the host's stays")
			p.Kept = true
		}
		p.stateFiles()
		return nil
	}
	why, quiet, err := p.hindrance(hostHead, guestHead)
	if err != nil {
		return err
	}
	if why == "" {
		if guestHead && co.g != co.h {
			p.Head = co.g.String()
		}
		p.Index = indexChanged || p.Head != "" && (co.own || co.indexWas != nil) // a bare repository has none
		p.stateFiles()
		return p.wantIndex()
	}
	return p.apart(why, quiet)
}

// movedHead tells which sides have made HEAD another one.
func (p *Plan) movedHead() (host, guest bool) {
	co := &p.co
	if co.h == co.g {
		return false, false
	}
	hostSame, guestSame := p.guest.Same("HEAD")
	return !hostSame, !guestSame
}

// hindrance says why the guest's HEAD and index cannot be taken, or nothing. quiet: the reason was told, or
// is none to tell.
func (p *Plan) hindrance(hostHead, guestHead bool) (why string, quiet bool, err error) {
	co := &p.co
	if co.bad != "" {
		return co.bad, false, nil
	}
	if p.stay != "" {
		return p.stay, false, nil
	}
	if p.force {
		return "", false, nil
	}
	switch {
	case co.hDoing != "" && !p.sawProgress():
		return "the host is in the middle of " + co.hDoing, false, nil
	case hostHead && guestHead:
		return "both sides have switched to another branch", false, nil
	case hostHead:
		return "the host is on another branch", true, nil
	case co.undoes != "":
		return "the guest has committed from an index older than the host's commits, which takes back " + co.undoes, false, nil
	case co.stale:
		return "the host has moved on", true, nil
	case guestHead && p.names.inTheWay(co.g.sym) != "":
		return short(co.g.sym) + " cannot be beside " + short(p.names.inTheWay(co.g.sym)), p.diverted[co.g.sym] != "", nil
	}
	// What the guest has checked out must be what the host will have under that name.
	if co.g.sym != "" {
		final := resolve(co.g, p.h.at)
		if c, ok := p.change(co.g.sym); ok {
			final = c.New
		}
		if final != co.gAt {
			return "the host has other commits", true, nil
		}
	} else if err := p.closure.add(co.gAt, plumbing.CommitObject); err != nil {
		return "the guest's repository is damaged: " + err.Error(), false, p.closure.ctx.Err()
	}
	staged, err := p.stagedOnHost()
	if err != nil || !staged {
		return "", false, err
	}
	return "the host has staged changes", false, nil
}

// sawProgress tells whether the host is in the middle of what the guest saw it in.
func (p *Plan) sawProgress() bool {
	for _, s := range inProgress {
		if !p.host.exists(s.name) {
			continue
		}
		if s.commands {
			return false
		}
		if same, _ := p.guest.Same(s.name); !same {
			return false
		}
	}
	return true
}

// stagedOnHost tells whether the host's index holds anything that neither its commit nor the guest's index
// has.
func (p *Plan) stagedOnHost() (bool, error) {
	co := &p.co
	if same, _ := p.guest.Same("index"); same || len(co.hIndex) == 0 && co.indexWas == nil {
		return false, nil
	}
	tree := ID{}
	if !co.hAt.IsZero() {
		c, err := p.objects.commit(co.hAt)
		if err != nil {
			return true, ignoreDamage(err)
		}
		tree = c.tree
	}
	diff, err := p.objects.staged(co.hIndex, co.hRoot, tree)
	if err != nil {
		return true, ignoreDamage(err)
	}
	for i := range diff {
		e := &diff[i]
		at, ok := slices.BinarySearchFunc(co.gIndex, e, func(x indexEntry, e *indexEntry) int { return x.compare(e) })
		if e.mode == 0 && !ok || ok && e.mode != 0 && co.gIndex[at].same(e) {
			continue
		}
		return true, nil
	}
	return false, nil
}

// wantIndex makes sure that what the guest's index refers to comes over.
func (p *Plan) wantIndex() error {
	co := &p.co
	if !p.Index {
		return nil
	}
	j := 0
	for i := range co.gIndex {
		e := &co.gIndex[i]
		for j < len(co.hIndex) && co.hIndex[j].compare(e) < 0 {
			j++
		}
		if e.mode == filemode.Submodule || j < len(co.hIndex) && co.hIndex[j].id == e.id {
			continue
		}
		if err := p.closure.add(e.id, plumbing.BlobObject); err != nil {
			if p.closure.ctx.Err() != nil {
				return err
			}
			p.leave("the guest's index is damaged: " + err.Error())
			return nil
		}
	}
	takeStat(co.gIndex, co.hIndex)
	return nil
}

// stateFiles plans what git says it is, or was, in the middle of.
func (p *Plan) stateFiles() {
	for _, name := range stateNames {
		there, own := p.guestHas(name)
		if !own {
			continue
		}
		was, err := p.host.read(name, maxState)
		if err != nil {
			was = nil
		}
		var data []byte
		if there {
			if data, err = readGuest(p.guest, name, maxState); err != nil {
				continue
			}
			if strings.HasSuffix(name, "_HEAD") || name == "AUTO_MERGE" {
				if data = p.headFile(data); data == nil {
					continue
				}
			}
		} else if same, _ := p.guest.Same(name); !same {
			continue
		}
		if !bytes.Equal(data, was) || (data == nil) != (was == nil) {
			p.files = append(p.files, stateFile{name, data, was})
		}
	}
}

// headFile reads a file that holds the names of objects, a line each.
func (p *Plan) headFile(data []byte) (out []byte) {
	for line := range strings.Lines(string(data)) {
		id, ok := parseID(strings.TrimSpace(line))
		if !ok || p.closure.add(id, plumbing.AnyObject) != nil {
			return nil
		}
		out = append(out, id.String()+"\n"...)
	}
	return out
}

// Original tells whether the guest has at a path what the host has committed there: it has not changed it, though
// git has written it anew.
func (p *Plan) Original(at string, mode uint32, content io.Reader, size int64) bool {
	return p.has(p.co.hAt, &p.co.hTree, at, mode, content, size)
}

// Committed tells whether the guest has at a path of what is checked out exactly what it has committed there: a
// file with a content, or nothing.
func (p *Plan) Committed(at string, mode uint32, content io.Reader, size int64) bool {
	return p.has(p.co.gAt, &p.co.gTree, at, mode, content, size)
}

// has tells whether a commit has exactly that at a path. tree is its tree, once it is known.
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

// Takes tells whether the index that the plan takes from the guest has another file at a path than the host's.
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

// refresh gives the entries of files that the pull has placed their stat data.
func (p *Plan) refresh() {
	if p.top == nil {
		return
	}
	top := &hostDir{dir: p.top, uid: -1, gid: -1}
	left := 10_000
	for i := range p.co.gIndex {
		e := &p.co.gIndex[i]
		if e.stat != [statBytes]byte{} || e.stage != 0 || e.mode != filemode.Regular && e.mode != filemode.Executable || left == 0 {
			continue
		}
		left--
		f, st, err := top.openFile(e.name)
		if err != nil {
			continue
		}
		if st.Size < 64<<20 && (st.Mode&0o100 != 0) == (e.mode == filemode.Executable) && hashBlob(f, st.Size) == e.id {
			e.stat = statOf(&st)
		}
		f.Close()
	}
}
