package git

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
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
	if p.back[co.g.sym] { // with its branch stays what belongs to that
		p.HeadStays, p.Kept = true, true
		return nil
	}
	if !guestHead && !indexChanged && !branchChanged && p.diverted[co.h.sym] == "" && !p.broken[co.h.sym] {
		if co.bad != "" && co.own && !strings.HasPrefix(co.bad, "the host's") {
			p.conflict(co.bad + "; the host's stays")
			p.Kept = true
		}
		p.HeadStays = co.g != co.h // after a pull beside a session the guest has its own still
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
	return p.keepHead(why, quiet)
}

// movedHead reports which sides have made HEAD another one.
func (p *Plan) movedHead() (host, guest bool) {
	co := &p.co
	if co.h == co.g {
		return false, false
	}
	hostSame, guestSame := p.guest.Same("HEAD")
	return !hostSame && !p.hostCameBack(), !guestSame
}

// hindrance says why the guest's HEAD and index cannot be taken, or nothing. quiet: the reason was reported, or
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
		return olderIndex + co.undoes, false, nil
	case co.stale:
		return hostOn, true, nil
	case guestHead && p.hostWentOn():
		p.note("HEAD stays, since the host has moved on: what the guest is on comes as a branch")
		return hostOn, true, nil
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

// stagedOnHost reports whether the host's index holds anything that neither its commit nor the guest's index
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
