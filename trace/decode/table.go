package decode

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/syscalls"
)

// signature is what is known of one call's arguments and result.
type signature struct {
	args   []argument
	output int // index of the first argument printed at the exit
	result string
}

// argument is one argument and how to print it.
type argument struct {
	register int  // which of the call's six
	output   bool // the kernel fills it in
	kind     kind
	name     string // of the kind
	// number is the parameter of kinds that refer to another argument or to a
	// size, flags that of kinds that print flags or names.
	number    int
	flags     *flagSet
	structure *structure
	// note, if not nil, is called at the entry of a call that prints this
	// argument at its exit.
	note func(c *Call, v uint64)
}

// kind prints the value v of an argument. It returns false when the call does
// not have this argument, e.g. the mode of an open that creates nothing.
type kind func(p *printer, a *argument, v uint64) bool

// notes are what kinds need to know from the entry of the call.
var notes = map[string]func(c *Call, v uint64){
	"socklen": noteLength(0), "msghdr_out": noteLength(msgNamelen), "mmsg": noteMmsg,
	"timespec_before": noteBytes, "offset": noteBytes,
}

// variants are the signatures of calls for some of their arguments, see signatureOf.
var variants = map[string]string{
	"fcntl(get)":   "fd enum/fcntl >flock",
	"fcntl(owner)": "fd enum/fcntl >struct/owner",
	"clone(ids)":   "clone >0@clone_ids",
	"prctl(get)":   "enum/prctl >prctl prctl prctl prctl = prctl",
	"prctl(core)":  "enum/prctl prctl prctl prctl >prctl",
}

var signatures = sync.OnceValue(func() map[string]*signature {
	all := map[string]*signature{}
	add := func(name, text string) {
		s, err := parseSignature(text)
		if err != nil {
			panic(fmt.Errorf("arguments of %s: %w", name, err)) // the table is part of the program, and a test reads it
		}
		all[name] = s
	}
	for _, c := range syscalls.Native.All() {
		add(c.Name, c.Args)
	}
	for name, text := range variants {
		add(name, text)
	}
	return all
})

// unknown is a call that the table does not have, or whose registers mean
// something else: all of them are shown.
var unknown = func() *signature {
	s := &signature{output: 6}
	for i := range 6 {
		s.args = append(s.args, argument{register: i, kind: printHex})
	}
	return s
}()

func signatureOf(c *Call) *signature {
	if c.Foreign() {
		return unknown
	}
	name := c.Name
	switch {
	case name == "fcntl" && (uint32(c.Args[1]) == unix.F_GETLK || uint32(c.Args[1]) == unix.F_OFD_GETLK):
		name = "fcntl(get)"
	case name == "fcntl" && uint32(c.Args[1]) == unix.F_GETOWN_EX: // the other one of its commands that fills in something
		name = "fcntl(owner)"
	case name == "prctl" && prctlGets(c.Args[0]):
		name = "prctl(get)"
	case name == "prctl" && uint32(c.Args[0]) == unix.PR_SCHED_CORE:
		name = "prctl(core)"
	case name == "clone" && c.Args[0]&cloneIDs != 0:
		name = "clone(ids)" // has something to print at its exit
	}
	if s := signatures()[name]; s != nil {
		return s
	}
	return unknown
}

// parseSignature reads the arguments of a call, as package syscalls' table has them:
//
//	argument... [= result]
//
// An argument is [>][register@]kind[/parameter]:
//
//	>          filled in by the kernel: it and what follows is printed at the exit
//	register   0 to 5, where it is not the argument's own position
//	kind       a key of kinds.go
//	parameter  a number (of the argument that holds the length, of a fixed length, of the argument that decides) or a key
//	           of flags.go
//
// A result is a key of result.go; without one it is a signed number.
func parseSignature(text string) (*signature, error) {
	text, result, _ := strings.Cut(text, "=")
	s := &signature{result: strings.TrimSpace(result), output: -1}
	if _, ok := results[s.result]; !ok {
		return nil, fmt.Errorf("unknown result %q", s.result)
	}
	for i, word := range strings.Fields(text) {
		word, out := strings.CutPrefix(word, ">")
		if out && s.output < 0 {
			s.output = i
		}
		a := argument{register: i, output: out}
		if at, rest, ok := strings.Cut(word, "@"); ok {
			n, err := strconv.Atoi(at)
			if err != nil || n < 0 || n > 5 {
				return nil, fmt.Errorf("no register %q", at)
			}
			a.register, word = n, rest
		}
		name, parameter, _ := strings.Cut(word, "/")
		if a.register > 5 {
			return nil, fmt.Errorf("more than six arguments")
		}
		if a.kind = kinds[name]; a.kind == nil {
			return nil, fmt.Errorf("unknown kind %q", name)
		}
		if n, err := strconv.Atoi(parameter); err == nil {
			a.number = n
		} else if name == "struct" {
			if a.structure = structures[parameter]; a.structure == nil {
				return nil, fmt.Errorf("unknown structure %q", parameter)
			}
		} else if parameter != "" {
			if a.flags = flagSets()[parameter]; a.flags == nil {
				return nil, fmt.Errorf("unknown flags %q", parameter)
			}
		}
		a.name, a.note = name, notes[name]
		s.args = append(s.args, a)
	}
	if s.output < 0 {
		s.output = len(s.args)
	}
	return s, nil
}
