package sqlvfs

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// What a pull is about to do to the host, as it says it, and as a tree of names.

// Effect is what a pull does to a path of the host.
type Effect uint8

// The effects.
const (
	Makes     Effect = iota // there is nothing, and something will be
	Replaces                // what is there goes, or becomes another; of a directory, with all that is in it
	Removes                 // what is there goes, and nothing comes in its place
	Retouches               // of a directory, its attributes alone become others
	losesName               // it stays as it is, but another name of the file goes
	effects
)

// HostChange is what a pull is about to do to a path of a workspace.
type HostChange struct {
	Path   string
	Effect Effect
	Type   uint32 // of what comes there, as in a mode; 0: nothing
	Linked uint64 // of a file with several names, its inode number on the host; else 0
	From   string // of a directory that is renamed, with all that is in it, its path so far; else empty
}

// HostChanges are those in a workspace.
type HostChanges struct {
	Workspace Tree
	List      []HostChange
	Present   bool // what the tree shows now is to be kept, too: see [Store.KeepPresent]
}

// Check returns an error if the changes cannot be.
func (c *HostChanges) Check() error {
	for i := range c.List {
		if h := &c.List[i]; !database.ValidPath(h.Path) || h.Effect >= effects || h.From != "" && !database.ValidPath(h.From) {
			return fmt.Errorf("a change of the host at %q cannot be", h.Path)
		}
	}
	if !ValidName(c.Workspace.Name) {
		return fmt.Errorf("there can be no workspace %q", c.Workspace.Name)
	}
	return nil
}

// changed is what a pull changes, as a tree of names.
type changedPath struct {
	effect Effect
	here   bool   // it is changed itself
	comes  uint32 // HostChange.Type
	from   string // HostChange.From
	below  map[string]*changedPath
}

func changedPaths(list []HostChange) *changedPath {
	top := &changedPath{}
	for _, c := range list {
		at := top
		for name := range strings.SplitSeq(c.Path, "/") {
			if name == "." {
				continue
			}
			next := at.below[name]
			if next == nil {
				next = &changedPath{}
				if at.below == nil {
					at.below = map[string]*changedPath{}
				}
				at.below[name] = next
			}
			at = next
		}
		at.here, at.effect, at.comes, at.from = true, c.Effect, max(at.comes, c.Type), cmp.Or(at.from, c.From) // what takes the place of a directory is a change of its own
	}
	return top
}

// goes tells whether what the host has there goes, with all that is in it.
func (c *changedPath) goes() bool {
	return c != nil && c.here && (c.effect == Replaces || c.effect == Removes)
}

// removes tells whether there is to be nothing at a path, at which there was something.
func (c *changedPath) removes(path string) bool {
	at, goes := c.find(path)
	if !goes || at.effect == Removes {
		return goes
	}
	return c.at(path) != at // it may be in a directory that goes
}

// stays tells whether there is something of a type at a path afterwards, where there was.
func (c *changedPath) stays(path string, mode uint32) bool {
	if _, goes := c.find(path); !goes {
		return true
	}
	at := c.at(path) // nil: it is in a directory that goes
	return at != nil && at.comes == mode&unix.S_IFMT
}

// moves tells whether a directory of the host is renamed.
func (c *changedPath) moves(from, to string) bool {
	at := c.at(to)
	return at != nil && at.here && at.from == from && at.comes == unix.S_IFDIR
}

// at returns what is changed at a path and below it; nil: nothing.
func (c *changedPath) at(path string) *changedPath {
	if path == "." {
		return c
	}
	for name := range strings.SplitSeq(path, "/") {
		if c = c.below[name]; c == nil {
			return nil
		}
	}
	return c
}

// find returns what is changed at a path, or whether it goes with a directory above it.
func (c *changedPath) find(path string) (at *changedPath, goes bool) {
	if at = c; path == "." {
		return at, at.goes()
	}
	for name := range strings.SplitSeq(path, "/") {
		if at = at.below[name]; at == nil {
			return nil, false
		}
		if at.goes() {
			return at, true
		}
	}
	return at, false
}

func childPath(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
