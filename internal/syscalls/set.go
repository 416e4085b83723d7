package syscalls

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/spelling"
)

// set says what a call belongs to: strace's classes, by the lists that `strace -e trace=%class` of version 6 goes by and
// with the calls that are newer than it, and sets of art's own.
type set uint16

const (
	file    set = 1 << iota // takes the name of a file
	desc                    // takes or makes a file descriptor
	network                 // is about sockets
	process                 // the life of processes: start, execution, waiting, signals, end
	memory                  // mappings and memory policy
	signal                  // sends or handles signals, or waits for them
	ipc                     // System V shared memory, semaphores and messages
	creds                   // user and group ids, and capabilities
	clock                   // the system's clocks
	pure                    // always succeeds and has no arguments

	guest      // every guest may make it, whatever its arguments
	report     // a report tells of it
	privileged // a report tells of it if it is refused
)

var classes = map[string]set{
	"file": file, "desc": desc, "network": network, "process": process, "memory": memory, "signal": signal,
	"ipc": ipc, "creds": creds, "clock": clock, "pure": pure,
}

// small are the classes of a few calls: attributes of files by path, without following links and by descriptor, and of
// file systems.
var small = map[string][]string{
	"stat": {"stat"}, "lstat": {"lstat"}, "fstat": {"fstat", "newfstatat", "statx"},
	"%stat":  {"fstat", "lstat", "newfstatat", "stat", "statx"},
	"statfs": {"statfs"}, "fstatfs": {"fstatfs"}, "%statfs": {"fstatfs", "statfs", "ustat"},
}

// Guest reports whether every guest may make the call, whatever its arguments.
func (c *Call) Guest() bool { return c.sets&guest != 0 }

// Reported reports whether a report tells of the call even if it is not refused.
func (c *Call) Reported() bool { return c.sets&report != 0 }

// Network reports whether the call is one of the class %network.
func (c *Call) Network() bool { return c.sets&network != 0 }

// Set is a set of system calls of one architecture.
type Set struct{ names map[string]bool }

// Report returns the calls that a report is made of.
func Report() Set {
	s := Set{names: map[string]bool{}}
	for _, c := range Native.All() {
		if c.sets&(report|privileged) != 0 {
			s.names[c.Name] = true
		}
	}
	return s
}

// Has reports whether the call is in the set.
func (s Set) Has(name string) bool { return s.names[name] }

// Union returns the set of the members of s and of those named.
func (s Set) Union(names []string) Set {
	all := Set{names: maps.Clone(s.names)}
	for _, name := range names {
		all.names[name] = true
	}
	return all
}

// Names returns the members in alphabetical order.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.names)) }

// Parse reads a comma-separated list of names, of numbers, of classes (%file), of regular expressions (/open) for all names
// in which they are found, and of "all".
// An item with ! in front is taken out of what stands before it; a list that
// starts with one starts from all calls, and then holds nothing but such items,
// because strace reads "!a,b" as "neither a nor b" and others would read it
// otherwise. The empty list is all calls, and "none" is none.
// ? in front of a name or class lets it stand for nothing.
//
// A call that only another architecture has is accepted and never occurs. A
// name that none has, and a list that leaves no call, is an error.
func Parse(list string) (Set, error) { return parse(Native, list) }

func parse(arch *Arch, list string) (Set, error) {
	set := Set{names: map[string]bool{}}
	all := arch.Names()
	if strings.TrimSpace(list) == "" {
		list = "all"
	}
	negative := false // the list started with !
	none := false     // an item says that there may be no call
	for i, item := range strings.Split(list, ",") {
		name, not := strings.CutPrefix(strings.TrimSpace(item), "!")
		if i == 0 && not {
			negative = true
			for _, n := range all {
				set.names[n] = true
			}
		}
		if negative && !not {
			return Set{}, cli.WithHint(fmt.Errorf("select system calls: %q: the list starts with !, but this item does not", name),
				"write ! in front of every item to leave it out, or put the items without ! first")
		}
		name, optional := strings.CutPrefix(name, "?")
		none = none || name == "none"
		members, err := members(arch, all, name)
		if err != nil && !optional {
			return Set{}, fmt.Errorf("select system calls: %w", err)
		}
		for _, n := range members {
			if not {
				delete(set.names, n)
			} else if _, ok := arch.Number(n); ok {
				set.names[n] = true
			}
		}
	}
	if len(set.names) == 0 && !none {
		return Set{}, fmt.Errorf("select system calls: %q leaves no call of %s", list, arch.GOARCH)
	}
	return set, nil
}

// members returns the calls that one item stands for.
func members(arch *Arch, all []string, name string) ([]string, error) {
	class, isClass := strings.CutPrefix(name, "%")
	switch {
	case name == "all" || name == "%all":
		return all, nil
	case name == "none" || name == "%none":
		return nil, nil
	case strings.HasPrefix(name, "/"):
		return matching(all, name[1:])
	case isClass && small[class] != nil:
		return small[class], nil
	case isClass && classes[class] != 0:
		var names []string
		for _, c := range arch.All() {
			if c.sets&classes[class] != 0 {
				names = append(names, c.Name)
			}
		}
		return names, nil
	case isClass:
		return nil, unknown("class", name, classNames())
	case Lookup(name) != nil || slices.Contains(i386(), name):
		return []string{name}, nil
	}
	if nr, err := strconv.ParseUint(name, 10, 32); err == nil && Lookup(arch.Name(nr)) != nil {
		return []string{arch.Name(nr)}, nil
	}
	return nil, unknown("system call", name, append(slices.Clone(all), classNames()...))
}

// matching returns the names in which a regular expression is found.
func matching(names []string, expression string) ([]string, error) {
	if len(expression) > 256 {
		return nil, fmt.Errorf("a regular expression of %d characters is too long", len(expression))
	}
	re, err := regexp.CompilePOSIX(expression)
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("/%s: %w", expression, err), "see regex(7); a comma ends the expression")
	}
	var found []string
	for _, name := range names {
		if re.MatchString(name) {
			found = append(found, name)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("/%s: no system call is so named", expression)
	}
	return found, nil
}

func classNames() []string {
	names := []string{"all", "none"}
	for name := range classes {
		names = append(names, "%"+name)
	}
	for name := range small {
		names = append(names, "%"+name)
	}
	slices.Sort(names)
	return names
}

func unknown(what, name string, known []string) error {
	err := fmt.Errorf("unknown %s %q", what, name)
	best, least := "", len(name)/2+1 // farther than that is no suggestion
	if len(name) > 64 {
		return err
	}
	for _, k := range known {
		if d := spelling.Distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return err
	}
	return cli.WithHint(err, "did you mean "+best+"?")
}
