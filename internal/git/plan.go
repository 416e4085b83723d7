package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// Options say which repository it is, and how to decide.
type Options struct {
	Host  *os.File // its git directory on the host
	Guest Guest
	Force bool // the guest's value wins where both sides have moved something
	// KeepBoth says that the user has asked for the guest's beside the host's: what gets another name is no conflict then.
	KeepBoth bool
	// Own is the linked worktree's own directory, below the git directory; "" is the main worktree.
	Own string
	// Stay says why what the host has checked out is to stay, if it is.
	Stay string
	// Top is the directory of the host that is checked out; nil: there is none.
	Top *os.File
}

// Plan is what is to be done to one repository of the host.
type Plan struct {
	Refs      []RefChange
	Head      string   // what HEAD becomes; "": it stays
	Index     bool     // the index becomes the guest's
	Conflicts []string // what both sides have changed, and what was made of it
	Notes     []string
	Left      bool // the guest's repository is left as it is, for another pull: nothing moves
	// HeadStays says that the host's HEAD and index stay, though the guest has changed something: what the
	// guest has committed does not belong into the files that are checked out.
	HeadStays bool
	// Kept says that what the guest has checked out stays in the guest: it could not come in any form.
	Kept bool

	guest    Guest
	host     *hostDir
	top      *os.File
	objects  *objects
	closure  *closure
	logs     *logs
	h        *hostRefs
	g        *guestRefs
	force    bool
	keepBoth bool // see Options
	stay     string
	reasons  []string // why the guest's repository is left as it is

	elsewhere map[string]string // branches that a worktree of the host uses beside its HEAD, and how
	gone      []RefChange       // references that the guest has deleted
	names     refNames          // of the host, once the plan is carried out
	aside     []aside           // references that cannot have their names
	diverted  map[string]string // references that came under another name
	broken    map[string]bool   // references whose objects are not all there
	foreign   map[string]bool   // worktrees that only the guest has
	pinned    map[string]bool   // references that stay in the guest
	back      map[string]bool   // branches at which the guest has gone back behind the host's commits

	co       checkout
	logLines map[string][]logLine // what reflogs are to be
	logWas   map[string][]logLine
	stash    *stashChange
	files    []stateFile // files of git's own at the top
}

// ErrUnknown says that a repository is of a kind that art does not know.
var ErrUnknown = errors.New("a repository of a kind that art does not know")

// New plans what is to be done. Close the plan when it is done.
func New(ctx context.Context, opt Options) (_ *Plan, err error) {
	h, err := newHost(opt.Host)
	if err != nil {
		return nil, err
	}
	if h.own = opt.Own; h.own != "" {
		opt.Guest = worktreeGuest{opt.Guest, opt.Own}
	}
	p := &Plan{guest: opt.Guest, host: h, top: opt.Top, force: opt.Force, keepBoth: opt.KeepBoth, stay: opt.Stay, logs: newLogs(h, opt.Guest),
		elsewhere: map[string]string{}, diverted: map[string]string{}, broken: map[string]bool{}, foreign: map[string]bool{}, pinned: map[string]bool{},
		back:     map[string]bool{},
		logLines: map[string][]logLine{}, logWas: map[string][]logLine{}}
	if err := p.known(); err != nil {
		return nil, err
	}
	if p.h, err = h.readRefs(); err != nil {
		return nil, err
	}
	if p.g, err = readGuestRefs(opt.Guest); err != nil {
		return nil, err
	}
	if p.objects, err = newObjects(h, opt.Guest); err != nil {
		return nil, err
	}
	p.closure = p.objects.newClosure(ctx)
	if err := p.plan(); err != nil {
		p.Close()
		return nil, err
	}
	if p.Left {
		p.nothing()
		p.Conflicts = p.reasons
	}
	return p, nil
}

// Close gives back what the plan holds open.
func (p *Plan) Close() { p.objects.close() }

func (p *Plan) plan() error {
	if err := p.branchesInUse(); err != nil {
		return err
	}
	if err := p.worktrees(); err != nil {
		return err
	}
	if err := p.readCheckout(); err != nil {
		return err
	}
	if p.Left {
		return nil
	}
	if p.g.changed() {
		if err := p.decide(); err != nil {
			return err
		}
	}
	p.decideNames()
	for _, a := range p.aside { // now that it is known which names are taken
		if err := p.divert(a.change, a.why); err != nil {
			return err
		}
	}
	if err := p.decideCheckout(); err != nil {
		return err
	}
	if err := p.decideStash(); err != nil {
		return err
	}
	for _, name := range p.g.bad {
		p.conflict(name + " of the guest is no reference: it is left out")
	}
	p.decideKept()
	if err := p.decideLogs("logs", 0); err != nil {
		return err
	}
	if p.logs.cut {
		p.note("not all of the guest's reflogs come: some cannot be read, or are too large")
	}
	return nil
}

// Leave has nothing of the guest's repository move. why is reported as a conflict, if there is anything to tell.
func (p *Plan) Leave(why string) {
	p.Left, p.Conflicts = true, nil
	if why != "" {
		p.conflict(why)
	}
}

func (p *Plan) conflict(text string) { p.Conflicts = append(p.Conflicts, text) }
func (p *Plan) note(text string)     { p.Notes = append(p.Notes, text) }

// Worktree returns what a repository's configuration says of what is checked out from it (git-config(1), core.bare and
// core.worktree).
func Worktree(text io.Reader) (bare bool, top string) {
	var c config.Config
	if config.NewDecoder(io.LimitReader(text, 1<<20)).Decode(&c) != nil {
		return false, ""
	}
	core := c.Section("core")
	return strings.EqualFold(core.Option("bare"), "true"), core.Option("worktree")
}

// known makes sure that both sides are of the form that this package knows.
func (p *Plan) known() error {
	data, err := p.host.read("config", 1<<20)
	if err == nil {
		var c config.Config
		if config.NewDecoder(strings.NewReader(string(data))).Decode(&c) == nil {
			for _, o := range c.Section("extensions").Options {
				switch key := strings.ToLower(o.Key); {
				case key == "objectformat" && o.Value == "sha1", key == "refstorage" && o.Value == "files":
				case key == "noop", key == "preciousobjects", key == "partialclone", key == "worktreeconfig", key == "relativeworktrees":
				default:
					return fmt.Errorf("%w: extensions.%s is %s", ErrUnknown, key, o.Value)
				}
			}
		}
	}
	if l, err := p.guest.List("reftable"); err == nil && (len(l.Own) > 0 || len(l.Hidden) > 0) {
		return fmt.Errorf("%w: it has reftables", ErrUnknown)
	}
	return nil
}

// worktrees finds out what the guest has in worktrees that only it has.
func (p *Plan) worktrees() error {
	// A worktree of the guest's has no place on the host. What it is detached at comes as a branch.
	l, err := p.guest.List("worktrees")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range l.Own {
		data, err := readGuest(p.guest, "worktrees/"+e.Name+"/HEAD", maxRef)
		v, ok := parseRef(data)
		if err != nil || p.host.exists("worktrees/"+e.Name) {
			continue
		}
		p.foreign[e.Name] = true
		name := "refs/heads/" + e.Name
		if !ok || v.id.IsZero() || !ours(name) {
			continue
		}
		if there, err := p.objects.onHost(v.id); there || err != nil {
			continue
		}
		p.aside = append(p.aside, aside{RefChange{Name: name, New: v.id}, "the guest's worktree is on no branch"})
	}
	return nil
}

// decideLogs finds the lines that the host's reflogs lack.
func (p *Plan) decideLogs(dir string, depth int) error {
	l, err := p.guest.List(dir)
	if errors.Is(err, fs.ErrNotExist) || depth > maxDepth {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range l.Own {
		at := path.Join(dir, e.Name)
		name := strings.TrimPrefix(at, "logs/")
		if e.Dir {
			if err := p.decideLogs(at, depth+1); err != nil {
				return err
			}
			continue
		}
		if name != "HEAD" && !ours(name) || p.back[name] || name == "HEAD" && p.back[p.co.g.sym] {
			continue // with lines of what has not come, the host's would tell the next plan that it had
		}
		p.decideLog(name)
	}
	return nil
}

func (p *Plan) decideLog(name string) {
	h, g, _ := p.logs.of(name)
	var more []logLine
	for _, l := range lacks(h, g) {
		if p.closure.add(l.to, plumbing.AnyObject) != nil || !l.from.IsZero() && p.closure.add(l.from, plumbing.AnyObject) != nil {
			continue // that one was pruned
		}
		more = append(more, l)
	}
	to, last := name, false
	if name == "HEAD" {
		last = p.HeadStays || p.Head == "" && p.co.h != p.co.g
	} else {
		c, changed := p.change(name)
		_, there := p.h.at(name)
		switch at := p.diverted[name]; {
		case at != "":
			to = at
			h = nil
		case changed && c.New.IsZero(), !changed && !there:
			return
		default:
			last = !changed
		}
	}
	if len(more) == 0 {
		return
	}
	if to != name {
		h, _, _ = p.logs.of(to)
		more = lacks(h, more)
	}
	if was, ok := p.host.read("logs/"+to, maxLog); ok == nil || to != "HEAD" {
		p.logWas[to] = parseLog(was)
		p.logLines[to] = joinLogs(p.logWas[to], more, last)
	}
}

// change returns what becomes of a reference.
func (p *Plan) change(name string) (RefChange, bool) {
	i := slices.IndexFunc(p.Refs, func(c RefChange) bool { return c.Name == name })
	if i < 0 {
		return RefChange{}, false
	}
	return p.Refs[i], true
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool {
	return len(p.Refs) == 0 && p.Head == "" && !p.Index && p.stash == nil && len(p.logLines) == 0 && len(p.files) == 0 && len(p.closure.want) == 0
}

// Others says what becomes of what is no reference of the usual kind.
func (p *Plan) Others() (list []string) {
	if p.Head != "" {
		list = append(list, "HEAD -> "+short(strings.TrimPrefix(p.Head, "ref: ")))
	}
	if p.stash != nil {
		list = append(list, fmt.Sprintf("stash of %d", len(p.stash.lines)))
	}
	if _, moved := p.change(p.co.h.sym); p.Index && p.Head == "" && !moved {
		list = append(list, "index")
	}
	return list
}

// Commit is one that the host lacks.
type Commit struct {
	ID      ID
	Subject string
}

// maxListed bounds how many commits of a reference are listed.
const maxListed = 1000

// Commits returns the commits that come with a reference, the youngest first.
func (p *Plan) Commits(c RefChange) (list []Commit) {
	seen := map[ID]bool{}
	todo := []ID{c.New}
	for len(todo) > 0 && len(list) < maxListed {
		id := todo[0]
		todo = todo[1:]
		if seen[id] || id.IsZero() {
			continue
		}
		seen[id] = true
		if there, err := p.objects.onHost(id); there || err != nil {
			continue
		}
		obj, err := p.objects.read(id, maxMeta)
		if err != nil {
			continue
		}
		if obj.kind == plumbing.TagObject {
			target, _ := tagTarget(obj.data)
			todo = append(todo, target)
			continue
		}
		m, err := parseCommit(obj.data)
		if err != nil {
			continue
		}
		list = append(list, Commit{id, m.subject})
		todo = append(todo, m.parents...)
	}
	return list
}
