package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/patch"
	"github.com/riverlytech/art/internal/reconcile/pick"
	"github.com/riverlytech/art/internal/reconcile/show"
	"github.com/riverlytech/art/sqlvfs"
)

// With Options.Pick the user picks what is pulled (package pick), out of what would be. What is not picked is
// left, as if it had not been named; of a file of which some hunks are, the host gets its own version with
// these. What both sides agree about is then that new version, and that the guest has changed it: so the rest
// is still shown by diff, and comes with the next pull (commitPart).

// choose has the user pick. The error is one that ends the run.
func (p *puller) choose() error {
	p.keepBlocked()
	if !p.opt.Pick {
		return nil
	}
	c := p.chooser()
	for _, a := range p.items {
		if a.op != nil && !a.left && a.op.do != keep {
			c.ops = append(c.ops, a.op)
		}
	}
	c.shown.ops = c.ops
	c.shown.find()
	p.report.Erase()
	p.report.Flush()
	for _, ch := range c.shown.changes {
		if err := c.ask(ch); err != nil {
			return err
		}
	}
	c.leaveRest()
	return c.askRepos()
}

func (p *puller) chooser() *chooser {
	c := &chooser{puller: p, shown: comparer{planner: p.planner}, taken: map[*item]bool{}}
	c.asker = pick.Asker{In: p.opt.Stdin, Out: p.opt.Stdout, Show: c.show, Edit: pick.Editor, Echo: !p.opt.StdinTerminal}
	return c
}

type chooser struct {
	*puller
	ops   []*operation // what would be done
	shown comparer     // knows how changes are shown
	asker pick.Asker
	taken map[*item]bool

	refused bool // some change was not taken, or not all of it
}

// show shows a part of a patch, as diff does.
func (c *chooser) show(text string) {
	c.shown.printer().PatchText(text)
	c.report.Flush()
}

func (c *chooser) ask(ch *change) error {
	if ch.isDir() && c.holds(ch) || ch.now != nil && follows(ch.now.op) {
		return nil // what is in it, or what it is a name of, is asked about
	}
	f, ok, err := c.shown.file(ch)
	if err != nil {
		c.fail(ch.item(), err)
		return nil
	}
	if !ok || f == nil || !c.inHunks(ch, f) {
		taken, _, err := c.asker.Ask(c.ctx, pick.Change{Head: c.head(ch, f, ok), What: what(ch)})
		if taken {
			c.take(ch)
		}
		c.refused = c.refused || !taken
		return err
	}
	return c.askHunks(ch, f)
}

// holds reports whether there are changes below a directory.
func (c *chooser) holds(dir *change) bool {
	return slices.ContainsFunc(c.shown.changes, func(ch *change) bool {
		return ch != dir && (strings.HasPrefix(ch.path, dir.path+"/") || dir.from != "" && strings.HasPrefix(ch.from, dir.from+"/"))
	})
}

// follows reports whether an operation only keeps a file's names together, of which one is asked about.
func follows(o *operation) bool { return o.do == hardLink && o.there != 0 }

// inHunks reports whether parts of a change can be picked: it is one of a text's content, and no other name
// has a share in it.
func (c *chooser) inHunks(ch *change, f *patch.File) bool {
	a := ch.now
	return ch.letter == 'M' && a.op.do == write && a.op.copyOf == nil && a.node != nil && a.attr.Nlink <= 1 && a.host.Nlink == 1 && !f.Binary()
}

func (c *chooser) askHunks(ch *change, f *patch.File) error {
	a := ch.now
	head, _, _ := strings.Cut(f.String(), "@@")
	mode := a.decision.Mode == classify.Guest
	if mode {
		var err error
		if mode, _, err = c.asker.Ask(c.ctx, pick.Change{Head: head, What: "mode change"}); err != nil {
			return err
		}
		head = ""
	}
	old := string(f.Old)
	_, picked, err := c.asker.Ask(c.ctx, pick.Change{Head: head, Hunks: patch.Hunks(old, string(f.New))})
	if err != nil {
		return err
	}
	content := patch.Apply(old, picked)
	kept := a.decision.Mode == classify.Guest && !mode
	switch {
	case content == string(f.New) && !kept:
		c.take(ch)
		return nil
	case content != old || mode:
		err = c.takePart(ch, content, kept)
	}
	c.refused = true
	return err
}

// take notes that a change is picked.
func (c *chooser) take(ch *change) {
	for _, a := range [...]*item{ch.now, ch.was} {
		if a != nil {
			c.taken[a] = true
			c.taken[a.instead] = true
		}
	}
}

// takePart has a file become the host's with a part of the guest's changes. The row's content must not come
// from the host's any more, which is replaced by one that lacks the rest.
func (c *chooser) takePart(ch *change, content string, hostMode bool) error {
	a := ch.now
	if a.source != "" && !c.opt.DryRun {
		f, err := c.openSource(a)
		if err == nil {
			err = c.fill(a, f)
			f.Close()
		}
		if err != nil {
			c.fail(a, err)
			return c.interrupted()
		}
	}
	a.op.part, a.op.bytes = true, []byte(content)
	c.notDone = append(c.notDone, a)
	a.source, a.attr.Size = "", int64(len(content))
	a.attr.Mtime = sqlvfs.Now()
	a.xattrs, _ = userXattrsOf(c.host.openFile(a.path))
	if hostMode {
		a.attr.Mode = a.attr.Mode&^modeBits | a.host.Mode&modeBits
	}
	c.taken[a] = true
	return nil
}

// leaveRest leaves what was not picked. A directory is made for what is picked in it, and removed with all
// that is in it. What nobody was asked about, since it is no difference to look at, comes with the last of
// the rest.
func (c *chooser) leaveRest() {
	needed := map[*item]bool{}
	for _, o := range c.ops {
		if follows(o) && c.taken[o.other] {
			c.taken[o.item] = true
		}
		if c.taken[o.item] {
			for d := o.in; d != nil; d = d.in {
				needed[d] = true
			}
		}
	}
	for _, ch := range c.shown.changes {
		if ch.isDir() && c.holds(ch) && (ch.now == nil || needed[ch.now]) {
			c.take(ch)
		}
	}
	if !c.refused {
		return
	}
	for _, a := range c.items {
		if a.op != nil {
			a.op.touched = needed[a] && a.op.touched
		}
	}
	for _, o := range c.ops {
		if !c.taken[o.item] && !o.left {
			c.leave(o.item)
		}
	}
}

// head is what is shown of a change that is asked about as a whole.
func (c *chooser) head(ch *change, f *patch.File, ok bool) string {
	switch {
	case f == nil || ok && f.Binary():
		return fmt.Sprintf("Binary files %s and %s differ\n", patch.Quote("a/"+ch.path), patch.Quote("b/"+ch.path))
	case ok:
		var b strings.Builder
		for _, part := range f.Split() {
			b.WriteString(part.String())
		}
		return b.String()
	}
	return fmt.Sprintf("%c %s\n", ch.letter, patch.Quote((&show.Change{Dir: ch.isDir()}).Slashed(ch.path)))
}

// what is what a change that is asked about as a whole is called.
func what(ch *change) string {
	switch {
	case ch.letter == 'D':
		return "deletion"
	case ch.letter == 'R':
		return "renaming"
	case ch.letter == 'A':
		return "addition"
	case ch.letter == 'T' && ch.now.there == kind(ch.now.attr.Mode):
		return "mode change"
	case ch.letter == 'T':
		return "type change"
	}
	return "this change"
}

// item is the item that a change is about.
func (c *change) item() *item {
	if c.now != nil {
		return c.now
	}
	return c.was
}

// askRepos asks about repositories.
func (c *chooser) askRepos() error {
	for _, r := range c.leaveSplit() {
		for _, text := range r.plan.Conflicts {
			c.report.Note(c.hostPath(r.dir), text) // the user has said so
		}
		r.plan.Leave("")
	}
	for _, r := range c.sortedRepos() {
		if r.plan == nil || r.plan.Left || r.plan.Empty() {
			continue
		}
		taken, _, err := c.asker.Ask(c.ctx, pick.Change{Head: c.headOf(r), What: "references"})
		if err != nil {
			return err
		}
		if !taken {
			r.plan.Leave("")
		}
	}
	return nil
}

// headOf is what is shown of a repository that is asked about.
func (c *chooser) headOf(r *repo) string {
	var b strings.Builder
	for _, l := range c.refLines() {
		if l.repo != r || l.conflict {
			continue
		}
		b.WriteString("REF " + c.report.Name(r.dir) + " " + c.report.Name(l.text) + "\n")
		var commits []git.Commit
		if l.ref != nil {
			commits = r.plan.Commits(*l.ref)
		}
		for _, commit := range commits {
			b.WriteString("    " + c.report.Name(commit.String()) + "\n")
		}
	}
	return b.String()
}
