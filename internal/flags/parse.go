package flags

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/peterbourgon/ff/v3"
)

// Line is a command line that was read.
type Line struct {
	Words []string        // what is no flag
	Ended bool            // -- ended the flags before them
	Flags []string        // those of the command line, as --name=value
	given map[string]bool // those that somebody has set
}

// Given tells whether a flag was given, on the command line or by its variable.
func (l *Line) Given(name string) bool { return l.given[name] }

// helpError asks for help.
type helpError struct{ text string }

func (helpError) Error() string { return "help is wanted" }

// Help returns the text that an error of Parse asks for.
func Help(err error) (text string, wanted bool) {
	var help helpError
	wanted = errors.As(err, &help)
	return help.text, wanted
}

// Parse reads a command line into variables, which keep their values where it says nothing. There is one for each flag, by
// its name, and may be others: a *string, *bool, *int, *int64 or *[]string, or a function that takes the value. Flags may stand anywhere
// among the words, but for a command whose words are a command: there, they end with the first word.
func (c *Command) Parse(args []string, variables map[string]any) (*Line, error) {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard) // errors are told in art's own words
	for _, f := range c.Flags {
		bind(set, f.Name, variables[f.Name])
	}
	ordered, ended, err := c.ordered(args)
	if err != nil {
		return nil, err
	}
	var options []ff.Option
	if c.Env {
		options = append(options, ff.WithEnvVarPrefix("ART"))
	}
	if err := ff.Parse(set, ordered, options...); err != nil {
		return nil, c.Wrong("%s", reason(err))
	}
	l := &Line{Words: set.Args(), Ended: ended, given: map[string]bool{}}
	l.Flags = ordered[:len(ordered)-len(l.Words)-1]
	set.Visit(func(f *flag.Flag) { l.given[f.Name] = true })
	switch n := len(l.Words); {
	case c.Payload:
	case n < c.Least:
		return nil, c.Wrong("this is not all: %s %s", c.Name, c.Synopsis[0])
	case n > c.Most && c.Commands() != nil:
		return nil, c.Wrong("there is no command %q", l.Words[0])
	case n > c.Most:
		return nil, c.Wrong("%q is one word too many", l.Words[c.Most])
	}
	for _, f := range c.Flags {
		for _, also := range strings.Fields(f.Also) {
			variable := Flag{Name: also}.Variable()
			value := os.Getenv(variable)
			if !c.Env || value == "" || l.given[f.Name] {
				continue
			}
			if err := set.Set(f.Name, value); err != nil {
				return nil, c.Wrong("%s: %v", variable, err)
			}
			l.given[f.Name] = true
		}
		choices := strings.Fields(f.Choices)
		if value := set.Lookup(f.Name).Value.String(); len(choices) > 0 && l.given[f.Name] && !slices.Contains(choices, value) {
			return nil, c.Wrong("--%s is %s, and not %q", f.Name, either(choices), value)
		}
	}
	return l, nil
}

// either is all of some words but one.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func bind(set *flag.FlagSet, name string, variable any) {
	switch v := variable.(type) {
	case *string:
		set.StringVar(v, name, *v, "")
	case *bool:
		set.BoolVar(v, name, *v, "")
	case *int:
		set.IntVar(v, name, *v, "")
	case *int64:
		set.Int64Var(v, name, *v, "")
	case *[]string:
		set.Func(name, "", func(s string) error { *v = append(*v, s); return nil })
	case func(string) error:
		set.Func(name, "", v)
	default:
		panic(fmt.Sprintf("flags: no variable takes --%s of %s", name, set.Name()))
	}
}

// ordered returns the command line with the flags first, under their long names, and tells whether -- ended them.
func (c *Command) ordered(args []string) (ordered []string, ended bool, err error) {
	var words []string
	for len(args) > 0 && !(c.Payload && len(words) > 0) {
		arg := args[0]
		args = args[1:]
		if ended = arg == "--"; ended {
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			words = append(words, arg)
			continue
		}
		name, value, valued := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		if name == "help" || name == "h" {
			return nil, false, helpError{c.Help()}
		}
		f := c.find(name)
		if f == nil && c.Bundles {
			if several := c.unbundle(arg); several != nil {
				args = append(several, args...)
				continue
			}
		}
		switch {
		case f == nil:
			return nil, false, c.unknown(strings.SplitN(arg, "=", 2)[0], name)
		case valued:
		case f.Arg == "" || f.Switch:
			value = "true"
		case len(args) == 0:
			return nil, false, c.Wrong("the flag %s needs a value", arg)
		default:
			value, args = args[0], args[1:]
		}
		ordered = append(ordered, "--"+f.Name+"="+value)
	}
	return append(append(append(ordered, "--"), words...), args...), ended, nil
}

// unbundle returns the flags that follow one hyphen together, each by itself; nil is for what is no such bundle.
// What follows one that takes a value is its value.
func (c *Command) unbundle(arg string) (several []string) {
	rest, ok := strings.CutPrefix(arg, "-")
	if !ok || strings.HasPrefix(rest, "-") {
		return nil
	}
	for rest != "" {
		f, spelled := c.short(rest)
		switch {
		case f == nil && c.Lacks[rest[:1]] != "" && len(arg) > 2: // an error of its own
			return append(several, "-"+rest[:1])
		case f == nil:
			return nil
		}
		rest = rest[len(spelled):]
		several = append(several, "-"+spelled)
		if f.Arg != "" && !f.Switch && rest != "" {
			return append(several, rest)
		}
	}
	if len(several) == 1 {
		return nil
	}
	return several
}

// short returns the flag with the longest short spelling that text begins with, and that spelling.
func (c *Command) short(text string) (found *Flag, spelled string) {
	for i, f := range c.Flags {
		s := f.Short
		if len(f.Name) == 1 {
			s = f.Name
		}
		if len(s) > len(spelled) && strings.HasPrefix(text, s) {
			found, spelled = &c.Flags[i], s
		}
	}
	return found, spelled
}

// unknown is the error for a flag that there is none of, as it was typed, and its name.
func (c *Command) unknown(typed, name string) error {
	if instead := c.Lacks[name]; instead != "" {
		return c.Wrong("the flag %s is not supported: %s", typed, instead)
	}
	for _, f := range c.Flags {
		for _, known := range append(strings.Fields(f.Also), f.Name) {
			if len(known) > 2 && near(name, known) {
				return c.Wrong("there is no flag %s: did you mean --%s?", typed, known)
			}
		}
	}
	return c.Wrong("there is no flag %s", typed)
}

// find returns the flag of a spelling.
func (c *Command) find(name string) *Flag {
	for i, f := range c.Flags {
		if name != "" && (name == f.Name || name == f.Short || slices.Contains(strings.Fields(f.Also), name)) {
			return &c.Flags[i]
		}
	}
	return nil
}

// reason is what an error of packages ff and flag says, without what they have put before it.
func reason(err error) string {
	text := err.Error()
	for _, before := range []string{"error parsing commandline arguments: ", "error parsing environment variables: "} {
		text = strings.TrimPrefix(text, before)
	}
	return text
}
