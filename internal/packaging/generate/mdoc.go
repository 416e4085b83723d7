package generate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/flags"
)

// ownFlags are what a command's part of a page describes: not the flags of a session, which are described once, but those
// of commands that it leads to.
func ownFlags(c *flags.Command) []flags.Flag {
	switch {
	case c.Flags == nil:
		return flagsOf(c.Commands())
	case c != flags.Art && len(c.Flags) >= len(flags.Run.Flags) && c.Flags[0].Name == flags.Run.Flags[0].Name:
		return c.Flags[len(flags.Run.Flags):]
	}
	return c.Flags
}

// manList is the list of a command's flags for its manual page.
func manList(c *flags.Command) string {
	var b strings.Builder
	b.WriteString(".Bl -tag -width Ds\n")
	for _, f := range ownFlags(c) {
		for i, s := range f.Spellings() {
			b.WriteString([]string{".It Fl ", " , Fl "}[min(i, 1)] + s[1:])
			switch {
			case f.Switch && len(s) > 2:
				b.WriteString(" Ns = Ns Ar " + f.Arg)
			case f.Arg != "" && len(s) > 2:
				b.WriteString(" Ar " + argument(f.Arg))
			}
		}
		says := f.Sentence()
		text := strings.ToUpper(says[:1]) + says[1:] + ". " + f.More
		for _, line := range mdoc(strings.ReplaceAll(text, `"`, "`")) {
			b.WriteString("\n" + line)
		}
		b.WriteString("\n")
	}
	if !strings.Contains(c.Name, " ") {
		b.WriteString(".It Fl -help\nPrint help, also behind a command.\n")
	}
	b.WriteString(".El\n")
	return b.String()
}

// flagsOf are the flags of several commands. What is said of one of the same name is joined.
func flagsOf(commands []*flags.Command) (all []flags.Flag) {
	for _, c := range commands {
		for _, f := range c.Flags {
			i := slices.IndexFunc(all, func(of flags.Flag) bool { return of.Name == f.Name })
			switch {
			case i < 0:
				all = append(all, f)
			case all[i].Says != f.Says:
				all[i].Says += ", or " + f.Says
			case f.More != "":
				all[i].More += " " + f.More
			}
		}
	}
	return all
}

// argument is a flag's in the language of manual pages. NAME[=VALUE] has a part that is a value by itself.
func argument(arg string) string {
	name, value, ok := strings.Cut(arg, "[=")
	if !ok {
		return arg
	}
	return name + " Ns Op = Ns Ar " + strings.TrimSuffix(value, "]")
}

// typed is what somebody types: between backquotes, a flag, or the name of a manual page; with the marks around it.
var typed = regexp.MustCompile("(\\(?)(`[^`]*`|--[a-z][a-z-]*|\\b[a-z-]+\\([1-8]\\))([.,;:)]*)( |$)")

// mdoc returns the lines of a paragraph in mdoc(7), which wants each sentence to begin a line, and a macro for what is
// typed.
func mdoc(text string) (lines []string) {
	add := func(line string) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, roff(line))
		}
	}
	for _, sentence := range strings.SplitAfter(text, ". ") {
		done := 0
		for _, m := range typed.FindAllStringSubmatchIndex(sentence, -1) {
			if m[0] > 0 && sentence[m[0]-1] != ' ' {
				continue
			}
			add(sentence[done:m[0]])
			done = m[1]
			lines = append(lines, macro(sentence[m[2]:m[3]], sentence[m[4]:m[5]], sentence[m[6]:m[7]]))
		}
		add(sentence[done:])
	}
	return lines
}

// macro is the line of what is typed, between marks.
func macro(before, text, after string) string {
	name, quoted := "Li", strings.HasPrefix(text, "`")
	text = strings.Trim(text, "`")
	switch {
	case !quoted && strings.HasSuffix(text, ")"):
		name, text = "Xr", strings.ReplaceAll(strings.TrimSuffix(text, ")"), "(", " ")
	case strings.Contains(text, " "):
		name = "Ql"
	case strings.HasPrefix(text, "-"):
		name, text = "Fl", text[1:]
	case strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
		name = "Ar"
	case strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "":
		name = "Ev"
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "~/"), strings.HasPrefix(text, "."):
		name = "Pa"
	}
	words := []string{"." + name}
	if before != "" {
		words = append(words, before)
	}
	for _, word := range strings.Fields(text) {
		if name == "Ql" || name == "Li" {
			word = `\&` + escaped(word) // it is no macro
		} else if name == "Pa" {
			word = escaped(word)
		}
		words = append(words, word)
	}
	return strings.Join(append(words, strings.Split(after, "")...), " ")
}

// special is what roff takes for something else than itself (groff_char(7)).
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "'", `\(aq`, "`", `\(ga`)

// variable is a name that is not to be broken in two.
var variable = regexp.MustCompile(`[A-Z0-9]+_[A-Z0-9_]+`)

func escaped(text string) string { return variable.ReplaceAllString(special.Replace(text), `\%$0`) }

// roff is a text for a line of its own.
func roff(text string) string {
	text = escaped(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
