// Package callset reads the lists of system calls that users write, such as
// "%file,!stat,execve".
package callset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/trace/sysnum"
)

// Set is a set of system calls of one architecture.
type Set struct{ names map[string]bool }

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
func (s Set) Names() []string {
	names := make([]string, 0, len(s.names))
	for name := range s.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Parse reads a comma-separated list of names, of classes (%file) and of "all".
// An item with ! in front is taken out of what stands before it; a list that
// starts with one starts from all calls, and then holds nothing but such items,
// because strace reads "!a,b" as "neither a nor b" and others would read it
// otherwise. The empty list is all calls.
//
// A call that only the other architecture has is accepted and never occurs. A
// name that none has, and a list that leaves no call, is an error.
func Parse(list string) (Set, error) { return parse(sysnum.Native, list) }

func parse(arch *sysnum.Arch, list string) (Set, error) {
	set := Set{names: map[string]bool{}}
	all := arch.Names()
	if strings.TrimSpace(list) == "" {
		list = "all"
	}
	negative := false // the list started with !
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
		members, err := members(all, name)
		if err != nil {
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
	if len(set.names) == 0 {
		return Set{}, fmt.Errorf("select system calls: %q leaves no call of %s", list, arch.GOARCH)
	}
	return set, nil
}

// members returns the calls that one item stands for.
func members(all []string, name string) ([]string, error) {
	switch {
	case name == "all" || name == "%all":
		return all, nil
	case strings.HasPrefix(name, "%"):
		if class, ok := classes[name[1:]]; ok {
			return strings.Fields(class), nil
		}
		return nil, unknown("class", name, classNames())
	}
	for _, arch := range []*sysnum.Arch{&sysnum.AMD64, &sysnum.ARM64} {
		if _, ok := arch.Number(name); ok {
			return []string{name}, nil
		}
	}
	return nil, unknown("system call", name, append(slices.Clone(all), classNames()...))
}

func classNames() []string {
	names := []string{"all"}
	for name := range classes {
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
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return err
	}
	return cli.WithHint(err, "did you mean "+best+"?")
}

// distance is the number of bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
