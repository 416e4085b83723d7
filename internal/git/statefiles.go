package git

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

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

// guestHas reports whether the guest has something, and whether that is its own.
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

// sawProgress reports whether the host is in the middle of what the guest saw it in.
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
