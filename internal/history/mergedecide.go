package history

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/reconcile/classify"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
)

// merger is one merge.
type merger struct {
	ctx                context.Context
	opt                *MergeOptions
	report             *report.Reporter
	store              *sqlvfs.Store // nil: nothing is to be changed
	beside             bool          // a session writes the database
	scratch            string        // the fork in which the merge is made then; "": none
	held               *os.File      // which says that somebody uses that
	base, ours, theirs *sqlvfs.Moment
	released           released // of the fork
	before             released // of the base, if that is a checkpoint of the fork; it shares what released has opened
	pulled             released // of the parent
	again              bool     // some of the fork was merged before: base is a checkpoint of it, not of the parent
	ourMay, theirMay   *sqlvfs.Difference
	secret             []byte
	was                sqlvfs.Merged          // what of the fork was merged before
	merged             int64                  // the fork's checkpoint that is merged
	top                sqlvfs.Ino             // up to this number, an inode is the same in the fork and in the parent
	depth              int                    // of a comparison
	compared           map[[2]versionKey]bool // what is known to be the same, or not
	walked             map[sqlvfs.Ino]bool    // directories of the fork
	pending            unsettled              // what is in conflict since the last merge
	stays              map[place]bool         // what shows of the host's at a path in conflict, or where the parent has renamed that to
	mayStay            []place                // same, if it shows
	spaces             map[string]bool        // names of workspaces, and of other layers, in the root

	made         map[sqlvfs.Ino]*node      // where what the fork has is, or goes to, by its number there
	pairs        map[sqlvfs.Ino]sqlvfs.Ino // which inodes of the parent are what the fork's are that it has made itself
	hosts        map[*sqlvfs.Moment]*hostLinks
	counted      []sqlvfs.Ino             // files of the host's that the fork has taken a name from
	inDirs       map[place]map[place]bool // see placesInDirs
	asIs         map[sqlvfs.Ino][]*entry  // names of the host's that lead to a row in the fork, which has changed nothing of it
	added        []*entry                 // names that are to lead to theirs
	removedDirs  []*entry                 // directories that theirs does not have there any more: removed, or renamed
	removedFiles []*entry                 // same, of files
	newNames     map[sqlvfs.Ino]uint32    // how many of the names of a file of theirs were added
	oldNames     map[sqlvfs.Ino]bool      // files of the parent's, of which theirs has removed a name
	unmerged     []sqlvfs.Ino             // inodes of theirs that a conflict keeps from being applied
	conflicted   map[any]bool             // same, with all that is in them, by what the base has them as
	plan
	said []said
}

// said is what is told of a path.
type said struct {
	at, change, conflict, target string
	dir                          bool
	size                         int64
}

// node is an inode of the parent, or one that is to be made of one of the fork's.
type node struct {
	ino   sqlvfs.Ino
	from  *version   // same, if ino is 0
	host  bool       // it is the host's, and gets its first row
	pull  *pulledDir // what it takes the place of, as the parent has let go of it; nil: nothing
	names uint32     // by which the host shows it, without an entry
	in    *sqlvfs.Inode
}

// entry is a name in a directory of the parent, and what the three trees have there.
type entry struct {
	at                 string
	was                string // the path that it had at the last merge
	dir                *node
	place              place // of the directory
	name               string
	base, ours, theirs *version
	fork               *version   // the directory in theirs
	pull               *pulledDir // the directory that the parent has let go of there
	through            *node      // ours, if the host's name leads to it, and no entry
	uncounted          bool       // the host's name did not show in the parent, and comes with a directory that is made
	below              []*entry   // names of files that have others, in a directory of the host's that the fork has removed
	over               bool       // it is to lead to theirs, and not to ours any more
	put                *entry     // what the fork has put in place of a directory that it has renamed, until that has gone
	whole              *entry     // both, as they were before they were taken apart
}

// plan is what is to be done, in this order.
type plan struct {
	makes   []*node
	takes   []take
	unlinks []*entry // which lead to ours; a directory goes with all that is in it, unless it is in moved
	moved   map[sqlvfs.Ino]bool
	hides   []*entry // the host's is not to show
	shows   []*entry // the host's is to show
	loses   []*node  // which a name of the host's does not lead to any more
	links   []link
	left    []sqlvfs.MergeConflict
}

// take is what an inode of the parent gets of one of the fork's.
type take struct {
	into                               *node
	from                               *version
	content, mode, owner, xattrs, time bool
}

type link struct {
	*entry
	to *node
}

// decide finds out what is to be done.
func (m *merger) decide() error {
	m.made, m.pairs, m.moved = map[sqlvfs.Ino]*node{}, map[sqlvfs.Ino]sqlvfs.Ino{}, map[sqlvfs.Ino]bool{}
	m.spaces, m.conflicted, m.stays = map[string]bool{}, map[any]bool{}, map[place]bool{}
	m.hosts, m.asIs = map[*sqlvfs.Moment]*hostLinks{}, map[sqlvfs.Ino][]*entry{}
	m.compared, m.walked = map[[2]versionKey]bool{}, map[sqlvfs.Ino]bool{}
	var tops [3]*version
	for i, of := range []*sqlvfs.Moment{m.base, m.ours, m.theirs} {
		list, err := of.Workspaces()
		if err != nil {
			return err
		}
		for _, w := range list {
			m.spaces[w.Name] = true
		}
		names, err := of.Bases()
		if err != nil {
			return err
		}
		for _, name := range names {
			m.spaces[name] = true
		}
		if tops[i], err = m.version(of, sqlvfs.RootIno); err != nil {
			return err
		}
		if !tops[i].rowDir() {
			return fmt.Errorf("%w: there is no root", sqlvfs.ErrCorrupt)
		}
	}
	root := &node{ino: sqlvfs.RootIno}
	if err := m.walk(".", ".", tops[0], tops[1], tops[2], root); err != nil {
		return err
	}
	if err := m.resolveDirs(); err != nil {
		return err
	}
	if err := m.removeFiles(); err != nil {
		return err
	}
	if err := m.resolveFiles(); err != nil {
		return err
	}
	return m.resolveLinks()
}

// walk decides about what is in a directory, which had a path at the last merge.
func (m *merger) walk(at, was string, base, ours, theirs *version, into *node) error {
	if theirs.row != nil {
		if m.walked[theirs.row.Ino] {
			return fmt.Errorf("%w: directory %d of the fork has several names", sqlvfs.ErrCorrupt, theirs.row.Ino)
		}
		m.walked[theirs.row.Ino] = true
	}
	names, err := m.differing(base, theirs)
	if err != nil {
		return err
	}
	if names == nil {
		names = map[string]bool{}
	}
	for p := range m.pending {
		if path.Dir(p) == was && p != "." {
			names[path.Base(p)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !sqlvfs.ValidName(name) {
			continue // nobody sees it
		}
		e := &entry{at: path.Join(at, name), was: path.Join(was, name), dir: into, name: name, fork: theirs}
		if ours != nil && (ours.row == nil || ours.rowDir()) {
			e.place = ours.place
		}
		if at == "." && m.spaces[name] {
			e.place = place{name, ""} // what hides it is in the root
		}
		for _, side := range []struct {
			dir *version
			to  **version
		}{{base, &e.base}, {ours, &e.ours}, {theirs, &e.theirs}} {
			if *side.to, err = m.child(side.dir, name); err != nil {
				return err
			}
		}
		m.beforePull(e)
		if err := m.afterPull(e); err != nil {
			return err
		}
		if len(e.at) >= unix.PathMax {
			err = m.tooLong(e)
		} else {
			err = m.mergeEntry(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pair notes which inode of the parent is what one is that the fork has made.
func (m *merger) pair(base, ours *version) {
	if base != nil && base.row != nil && ours != nil && ours.row != nil && base.row.Ino > m.top && (base.row.Attr.Mode^ours.row.Attr.Mode)&unix.S_IFMT == 0 {
		m.pairs[base.row.Ino] = ours.row.Ino
	}
}

// mergeEntry is the three-way merge of one name.
func (m *merger) mergeEntry(e *entry) error {
	if err := m.throughHost(e); err != nil {
		return err
	}
	m.pair(e.base, e.ours)
	if asShown(e.ours, e.theirs) {
		return nil
	}
	if apart, err := m.takeApart(e); err != nil || apart {
		return err
	}
	return m.mergeWhole(e)
}

// mergeWhole is mergeEntry of one that is not two things.
func (m *merger) mergeWhole(e *entry) error {
	if e.theirs.rowDir() && e.ours != nil && e.ours.place == e.theirs.place && (e.ours.rowDir() || e.ours.ofHost() && (e.ours.let == nil || e.ours.let.was.rowDir())) {
		return m.mergeDirs(e)
	}
	if e.theirs.showsIn(e.ours) {
		return m.walk(e.at, e.was, &version{m: m.base, place: e.theirs.place}, e.ours, e.theirs, &node{ino: e.ours.row.Ino})
	}
	if joins, err := m.pulledHere(e); err != nil || joins != nil && !e.base.rowDir() { // both have made it
		if err == nil {
			err = m.takeTheirs(e)
		}
		return err
	}
	unchanged, err := m.same(e.base, e.theirs)
	unresolved := m.pending[e.was] != settled // also below it: nothing is gone into here
	if err != nil || unchanged && !unresolved {
		if err == nil {
			m.touched(e)
		}
		if t := e.theirs; e.base.ofHost() && e.ours.ofHost() && t != nil && t.row != nil && !t.rowDir() {
			m.asIs[t.row.Ino] = append(m.asIs[t.row.Ino], e)
		}
		return err
	}
	if m.pending[e.was] == pendingBelow && e.theirs.ofHost() && e.base != nil && e.base.place == e.theirs.place && e.ours.rowDir() && e.ours.place == e.theirs.place {
		return m.walk(e.at, e.was, e.base, e.ours, e.theirs, &node{ino: e.ours.row.Ino}) // what is in conflict is in it
	}
	if (e.theirs == nil || e.theirs.ofHost()) && e.base != nil && e.ours.rowDir() && e.ours.place == e.base.place && m.pending[e.was] < pendingMarks {
		m.removedDirs = append(m.removedDirs, e) // or renamed
		return nil
	}
	kept, err := m.same(e.base, e.ours)
	if err == nil && !kept {
		kept, err = m.hasSeen(e)
	}
	if err != nil {
		return err
	}
	if err = m.namesBelow(e); err != nil {
		return err
	}
	linked, err := m.changedBelow(e)
	if err != nil || kept && !unchanged && !linked {
		if err == nil {
			err = m.takeTheirs(e)
		}
		return err
	}
	if equal, err := m.same(e.ours, e.theirs); err != nil || equal {
		return err
	}
	base, ours, theirs, err := m.states(e)
	if err != nil {
		return err
	}
	d := classify.Classify(base, ours, theirs)
	pulled := e.ours.ofHost() && e.ours.let != nil && (d.Content == classify.Host || d.Mode == classify.Host || d.Owner == classify.Host || d.Xattrs == classify.Host)
	if unresolved || e.ours.isUnknown() || e.theirs.isUnknown() || pulled || linked { // a part of both would need a row here
		d.Kind = classify.Conflict
	}
	if d.Conflict() {
		if d = m.conflict(e, d); d.Conflict() {
			return nil
		}
		if unresolved && d.Kind == classify.Guest {
			return m.takeTheirs(e)
		}
	}
	switch {
	case d.Kind == classify.Guest:
		return m.takeTheirs(e)
	case d.Kind == classify.Host || !d.Pull():
		return nil
	case e.ours.row == nil || e.theirs.row == nil:
		return m.takeTheirs(e)
	}
	if m.takeInto(e, d) || m.takeMarked(e, d) {
		return nil
	}
	// It has another name here, which is not to change.
	d.Kind = classify.Conflict
	if d = m.conflict(e, d); d.Kind != classify.Guest {
		return nil
	}
	return m.takeTheirs(e)
}

// touched takes over a file's time, where that is all that the fork has changed.
func (m *merger) touched(e *entry) {
	if e.base == nil || e.base.row == nil || e.ours == nil || e.ours.row == nil || e.theirs == nil || e.theirs.row == nil || e.ours.row.Attr.IsDir() {
		return
	}
	was := e.base.row.Attr.Mtime
	if e.ours.row.Attr.Mtime == was && e.theirs.row.Attr.Mtime != was && (e.ours.row.Attr.Mode^e.theirs.row.Attr.Mode)&unix.S_IFMT == 0 {
		m.takes = append(m.takes, take{into: &node{ino: e.ours.row.Ino}, from: e.theirs, time: true})
	}
}

// mergeDirs decides about a directory that both have, and what is in it.
func (m *merger) mergeDirs(e *entry) error {
	if e.name == ".git" {
		if on, err := m.mergeRepository(e); err != nil || !on {
			return err
		}
	}
	base, whole := e.base, m.pending[e.was] == pendingWhole
	if base != nil && (base.place != e.theirs.place || base.row != nil && !base.rowDir()) {
		base = nil
	}
	if whole { // nothing in it was merged
		if base = nil; e.theirs.place != (place{}) {
			base = &version{m: m.base, place: e.theirs.place}
		}
	}
	if base == nil && e.ours.row != nil && !whole {
		// Both may have moved it here.
		was, err := m.baseOf(e.theirs)
		if err != nil {
			return err
		}
		if is := e.theirs.row.Ino; was != nil && (was.row == nil || is == e.ours.row.Ino || m.pairs[is] == e.ours.row.Ino) {
			base = was
		}
	}
	to := &node{}
	if e.ours.row == nil {
		if err := m.onlyOnce(e); err != nil {
			return err
		}
		to = m.make(e.theirs)
		to.host, to.pull = true, e.pull
		m.links = append(m.links, link{e, to})
		if o := e.theirs.row.Origin; o != nil && o.Mode != 0 && (o.Mode^e.theirs.row.Attr.Mode)&0o7777 != 0 {
			m.say(e, "changed")
		}
	} else {
		to.ino = e.ours.row.Ino
		if base != nil {
			m.pair(base, e.ours)
		}
		if err := m.dirMarks(e, base, to); err != nil {
			return err
		}
	}
	return m.walk(e.at, e.was, base, e.ours, e.theirs, to)
}

// dirMarks decides about mode, owner and extended attributes of a directory.
func (m *merger) dirMarks(e *entry, was *version, to *node) error {
	states := *e
	states.base = was
	base, ours, theirs, err := m.states(&states)
	if err != nil {
		return err
	}
	if was == nil || was.row == nil { // what the host's were, nobody knows: the fork's count where the parent has not changed them
		base.Kind, base.Owner, base.Xattrs = ours.Kind, ours.Owner, ours.Xattrs
		if base.Mode == unknownMode || was == nil {
			base.Mode = ours.Mode
		}
	}
	base.Content, ours.Content, theirs.Content = 0, 0, 0
	if m.pending[e.was] >= pendingMarks {
		base.Mode, base.Owner, base.Xattrs = unknownMode, unknownOwner, classify.Unknown
	}
	d := classify.Classify(base, ours, theirs)
	if d.Conflict() {
		if d = m.conflict(e, d); d.Conflict() {
			return nil
		}
	}
	if d.Pull() {
		m.said = append(m.said, said{at: e.at, change: "changed", dir: true})
		m.takes = append(m.takes, take{into: to, from: e.theirs, mode: d.Mode == classify.Guest, owner: d.Owner == classify.Guest, xattrs: d.Xattrs == classify.Guest})
	}
	return nil
}

// mergeRepository decides about a git directory, which is one unit: it is taken as a whole, or left. It tells whether to go on in it.
func (m *merger) mergeRepository(e *entry) (bool, error) {
	if same, err := m.same(e.ours, e.theirs); err != nil || same {
		return false, err
	}
	if m.pending[e.was] == settled {
		if same, err := m.same(e.base, e.theirs); err != nil || same {
			return false, err
		}
		if kept, err := m.same(e.base, e.ours); err != nil || kept {
			return kept, err
		}
	}
	switch {
	case m.opt.Force:
		return false, m.takeTheirs(e)
	case m.opt.Ours:
	default:
		m.leave(e.at, false, "both have changed this git repository, and it is one thing: fetch from one into the other")
	}
	return false, nil
}

// shown is a path as it is shown: in the workspace by its name, and elsewhere below the home.
func (m *merger) shown(at string) string {
	if m.inWorkspace(at) {
		return at
	}
	return "~/" + at
}

func (m *merger) inWorkspace(at string) bool {
	top, _, _ := strings.Cut(at, "/")
	return m.spaces[top] && !sqlvfs.IsLayer(top)
}

func compare(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }
