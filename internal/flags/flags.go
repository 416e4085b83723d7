// Package flags is the one specification of the command lines of art, art-fuse, art-sync and art-trace. The programs
// parse with it and print their help from it; `go generate ./internal/packaging/generate` writes it into the manual
// pages, the README and the completions of the shells.
//
// Texts are plain. What stands between double quotes is as somebody types it: one word is printed without the quotes in
// help, and each document marks it in its own way.
package flags

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/riverlytech/art/internal/cli"
)

// Flag is a flag of a command.
type Flag struct {
	Name    string // the long one, or one letter that has no long one
	Short   string // another spelling, behind one hyphen
	Also    string // other long ones, with spaces between
	Arg     string // the name of its value in texts; "" is a flag that is on or off
	Switch  bool   // it needs no value: Arg names that of on or off, or one that tells more
	Offer   Offer  // what shells offer for its value
	Choices string // all that the value can be, which is what shells offer
	Default string // where it is not obvious
	Repeat  bool   // it may be given several times
	Says    string // what it does, in a line: a phrase without a full stop
	More    string // what the manual page says beside that, in sentences
}

// Offer is what the completions of shells offer for a word: one of these, or the words themselves.
type Offer string

// These have a function of their name in the completions of each shell.
const (
	Nothing     Offer = ""
	Files       Offer = "files"
	Directories Offer = "directories"
	Variables   Offer = "variables"
	Homes       Offer = "homes"
	Agents      Offer = "agents"
	Presets     Offer = "presets"
	Databases   Offer = "databases"
	Calls       Offer = "calls" // system calls, between commas
	Processes   Offer = "processes"
	Sessions    Offer = "sessions"
	InDatabase  Offer = "in_database"  // paths in the database that the first word names
	InWorkspace Offer = "in_workspace" // paths in the workspace of --db
)

// Any is no bound for the words of a command.
const Any = math.MaxInt

// Command is a program, or what it does by a word.
type Command struct {
	Name     string   // "art pull"
	Says     string   // what it does, in a line
	Synopsis []string // what follows the name
	Text     string   // the description in help
	Notes    string   // what comes behind the flags there, with headings
	Flags    []Flag
	Words    []Offer // what shells offer for its words; the last one stays
	Least    int     // words, at least
	Most     int     // and at most
	Payload  bool    // its words are a command, with flags of its own
	Exits    Exits   // what its exit code is
	Env      bool    // each flag is an environment variable, too
	Bundles  bool    // letters may follow one hyphen together, and the last one's value them: -yTs100
	// Lacks are flags, by their spelling without hyphens, of a program that people take this one for, and what they
	// can do instead.
	Lacks  map[string]string
	Hidden bool // shells do not offer it
}

// Exits is what the exit code of a command is, where it has failed or is 1.
type Exits int

const (
	// AsItself is 1 for an error, and 2 for wrong usage.
	AsItself Exits = iota
	// AsDiff is 1 for what was found, as of diff(1), and 2 for trouble.
	AsDiff
	// AsGuest is that of a program in a session: 125 says that art itself has failed, in whatever way.
	AsGuest
)

// Failed is the exit code of a command that has come to an error, or to none.
func (c *Command) Failed(err error) int {
	switch {
	case err == nil:
		return cli.OK
	case c.Exits == AsGuest:
		return cli.ExitArt
	case c.Exits == AsDiff:
		return cli.ExitTrouble
	case errors.As(err, new(UsageError)):
		return cli.ExitUsage
	}
	return cli.ExitError
}

// Help returns the text for --help.
func (c *Command) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "NAME\n  %s - %s\n\nSYNOPSIS\n", c.Name, c.Says)
	for _, s := range c.Synopsis {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(c.Name+" "+s))
	}
	if c.Text != "" {
		fmt.Fprintf(&b, "\nDESCRIPTION\n%s", c.Text)
	}
	if words := c.Commands(); words != nil {
		b.WriteString("\nCOMMANDS\n")
		for _, w := range words {
			fmt.Fprintf(&b, "  %-*s%s\n", column-12, w.Name[len(c.Name)+1:], w.Says)
		}
		fmt.Fprintf(&b, "\n  \"%s COMMAND --help\" tells more.\n", c.Name)
	}
	b.WriteString("\nFLAGS\n")
	for _, f := range c.Flags {
		writeFlag(&b, f)
	}
	b.WriteString("      --help              print this text\n")
	if i := slices.IndexFunc(c.Flags, func(f Flag) bool { return len(f.Name) > 1 }); c.Env && i >= 0 {
		fmt.Fprintf(&b, "\n  Every flag with a long name is an environment variable, too: --%s is\n  %s. What stands on the command line counts more.\n", c.Flags[i].Name, c.Flags[i].Variable())
	}
	if c.Notes != "" {
		b.WriteString("\n" + c.Notes)
	}
	return b.String()
}

// Spellings returns all spellings of a flag, with their hyphens, the short ones first.
func (f Flag) Spellings() (all []string) {
	if f.Short != "" {
		all = append(all, "-"+f.Short)
	}
	if len(f.Name) == 1 {
		return append(all, "-"+f.Name)
	}
	all = append(all, "--"+f.Name)
	for _, also := range strings.Fields(f.Also) {
		all = append(all, "--"+also)
	}
	return all
}

// Variable is the environment variable of a flag.
func (f Flag) Variable() string {
	return "ART_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// Sentence says what a flag does, with its default, as one without a full stop.
func (f Flag) Sentence() string {
	text := f.Says
	if f.Default != "" {
		text += " (default: " + f.Default + ")"
	}
	if f.Repeat {
		text += "; may be repeated"
	}
	return text
}

// Plain removes the quotes around single words.
func Plain(text string) string {
	parts := strings.Split(text, `"`)
	for i := 1; i+1 < len(parts); i += 2 {
		if strings.Contains(parts[i], " ") {
			parts[i] = `"` + parts[i] + `"`
		}
	}
	return strings.Join(parts, "")
}

// The help of a flag begins in this column, and no line is longer than width.
const (
	column = 26
	width  = 80
)

func writeFlag(b *strings.Builder, f Flag) {
	head := "  " + strings.Join(f.Spellings(), ", ")
	if strings.HasPrefix(head, "  --") {
		head = "    " + head // below the long names of those that have a short one
	}
	switch {
	case f.Switch:
		head += "=" + f.Arg
	case f.Arg != "":
		head += " " + f.Arg
	}
	if len(head)+2 > column {
		b.WriteString(head + "\n")
		head = ""
	}
	line := fmt.Sprintf("%-*s", column, head)
	for _, word := range strings.Fields(Plain(f.Sentence())) {
		if len(line)+len(word)+1 > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", column)
		}
		if !strings.HasSuffix(line, " ") {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

// Unwrap returns what makes no sense in it.
func (e UsageError) Unwrap() error { return e.error }

// Wrong returns the error of a command line that makes no sense. The hint says what to do.
func (c *Command) Wrong(format string, args ...any) error {
	err := fmt.Errorf("read the command line: "+format, args...)
	return cli.WithHint(UsageError{err}, "see "+c.Name+" --help")
}

// Commands returns all that there are. They are made when they are first asked for: most starts need one or none.
var Commands = sync.OnceValue(func() []*Command {
	bySync := syncCommands()
	return slices.Concat([]*Command{Art, Run}, bySync, artCommands(), []*Command{Fuse}, fuseCommands(), []*Command{Sync}, inSync(bySync), []*Command{summary, Trace})
})

// Commands returns what a command does by a word, but for what is hidden.
func (c *Command) Commands() (all []*Command) {
	for _, other := range Commands() {
		if word, found := strings.CutPrefix(other.Name, c.Name+" "); found && !strings.Contains(word, " ") && !other.Hidden {
			all = append(all, other)
		}
	}
	return all
}

// Find returns the command of a name, or nil.
func Find(name string) *Command {
	for _, c := range Commands() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Word returns the command that a command line begins with, and the rest of it.
func (c *Command) Word(args []string) (*Command, []string, error) {
	if len(args) > 0 {
		if word := Find(c.Name + " " + args[0]); word != nil {
			return word, args[1:], nil
		}
	}
	_, err := c.Parse(args, nil)
	if err == nil {
		err = c.NoCommand()
	}
	return c, nil, err
}

// NoCommand returns the error of a command line that ends where the word for a command has to be.
func (c *Command) NoCommand() error {
	var words []string
	for _, w := range c.Commands() {
		words = append(words, w.Name[len(c.Name)+1:])
	}
	return c.Wrong("no command was given: %s", either(words))
}
