package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/flags"
)

// offered are the commands that shells complete.
func offered() []*flags.Command {
	return slices.DeleteFunc(slices.Clone(flags.Commands()), func(c *flags.Command) bool { return c.Hidden })
}

// withHelp are the flags of a command, with the one that all have.
func withHelp(c *flags.Command) []flags.Flag {
	return append(slices.Clone(c.Flags), flags.Flag{Name: "help", Says: "print help"})
}

// wordOf is the last word of a command's name.
func wordOf(c *flags.Command) string { return c.Name[strings.LastIndex(c.Name, " ")+1:] }

// brief is a line about a flag or a command, as a shell shows it beside the word.
func brief(says string) string {
	says, _, _ = strings.Cut(flags.Plain(says), ";")
	says, _, _ = strings.Cut(says, ":")
	return says
}

// offerOf is what shells offer for the value of a flag: the name of a function, or words between bars.
func offerOf(f flags.Flag) string {
	switch {
	case f.Switch && f.Offer == flags.Nothing:
		return "true|false"
	case f.Choices != "":
		return strings.ReplaceAll(f.Choices, " ", "|")
	}
	return offer(f.Offer)
}

func offer(o flags.Offer) string {
	if o == flags.Nothing {
		return "nothing"
	}
	return strings.ReplaceAll(string(o), " ", "|")
}

// bashCases are what _art_spec in art.bash knows of each command.
func bashCases() string {
	var b strings.Builder
	b.WriteString("\tcase $1 in\n")
	for _, c := range offered() {
		var spelled, offers, words, commands []string
		for _, f := range withHelp(c) {
			for _, s := range f.Spellings() {
				spelled = append(spelled, s)
				switch {
				case f.Switch:
					offers = append(offers, s+":"+offerOf(f))
				case f.Arg != "":
					offers = append(offers, s+"="+offerOf(f))
				}
			}
		}
		for _, w := range c.Words {
			words = append(words, offer(w))
		}
		for _, w := range c.Commands() {
			commands = append(commands, wordOf(w))
		}
		payload := ""
		if c.Payload {
			payload = "yes"
		}
		fmt.Fprintf(&b, "\t'%s')\n\t\tpayload=%s commands='%s' words='%s'\n\t\tflags='%s'\n\t\toffers='%s'\n\t\t;;\n", c.Name, payload,
			strings.Join(commands, " "), strings.Join(words, " "), strings.Join(spelled, " "), strings.Join(offers, " "))
	}
	b.WriteString("\t*) return 1 ;;\n\tesac\n")
	return b.String()
}

// zshCases are what _art_spec in art.zsh knows of each command, for _arguments.
func zshCases() string {
	quote := strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`)
	var b strings.Builder
	b.WriteString("  case $1 in\n")
	for _, c := range offered() {
		fmt.Fprintf(&b, "    '%s')\n      payload=%t\n      own=(", c.Name, c.Payload)
		for _, w := range c.Commands() {
			fmt.Fprintf(&b, "\n        '%s:%s'", wordOf(w), quote.Replace(brief(w.Says)))
		}
		b.WriteString(")\n      specs=(")
		for _, f := range withHelp(c) {
			spelled := f.Spellings()
			before, value := "", ""
			switch {
			case f.Repeat:
				before = "'*'"
			case f.Name == "help" || f.Name == "version":
				before = "'(- *)'"
			case len(spelled) > 1:
				before = "'(" + strings.Join(spelled, " ") + ")'"
			}
			if f.Arg != "" {
				value = ":" + f.Arg + ":" + zshAction(offerOf(f))
				for i, s := range spelled {
					if f.Switch {
						spelled[i] = s + "=-"
					} else if strings.HasPrefix(s, "--") {
						spelled[i] = s + "="
					}
				}
			}
			names := strings.Join(spelled, ",")
			if len(spelled) > 1 {
				names = "{" + names + "}"
			}
			fmt.Fprintf(&b, "\n        %s%s'[%s]%s'", before, names, quote.Replace(brief(f.Says)), value)
		}
		for i, w := range c.Words {
			at := fmt.Sprint(i + 1)
			if i == len(c.Words)-1 && c.Most > i+1 {
				at = "*"
			}
			fmt.Fprintf(&b, "\n        '%s:word:%s'", at, zshAction(offer(w)))
		}
		b.WriteString(")\n      ;;\n")
	}
	b.WriteString("    *) return 1 ;;\n  esac\n")
	return b.String()
}

func zshAction(offer string) string {
	switch offer {
	case "nothing":
		return " "
	case "files":
		return "_files"
	case "directories":
		return "_files -/"
	case "variables":
		return `_parameters -g "*export*"`
	case "processes":
		return "_pids"
	case "agents", "calls", "databases", "homes", "in_database", "in_workspace", "presets", "sessions":
		return " _art_" + offer
	}
	return "(" + strings.ReplaceAll(offer, "|", " ") + ")"
}

// fishLines are the calls of complete in art.fish.
func fishLines() string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `\'`) + "'" }
	var names, payloads, valued []string
	var b strings.Builder
	for _, c := range offered() {
		program, _, _ := strings.Cut(c.Name, " ")
		names = append(names, quote(c.Name))
		if c.Payload {
			payloads = append(payloads, quote(c.Name))
		}
		line := func(when, rest string) {
			fmt.Fprintf(&b, "complete -c %s -n %s %s\n", program, quote(when), rest)
		}
		at := fmt.Sprintf("__art_at %q", c.Name)
		for _, w := range c.Commands() {
			line(at+" 1", "-a "+wordOf(w)+" -d "+quote(brief(w.Says)))
		}
		for i, w := range c.Words {
			n := fmt.Sprintf(" %d", i+1)
			if i == len(c.Words)-1 && c.Most > i+1 {
				n += " more"
			}
			if w != flags.Nothing {
				line(at+n, strings.TrimPrefix(fishOffer(offer(w)), "-r "))
			}
		}
		for _, f := range withHelp(c) {
			rest := ""
			for _, s := range f.Spellings() {
				switch {
				case strings.HasPrefix(s, "--"):
					rest += "-l " + s[2:] + " "
				case len(s) > 2:
					rest += "-o " + s[1:] + " "
				default:
					rest += "-s " + s[1:] + " "
				}
				if f.Arg != "" && !f.Switch && !slices.Contains(valued, s) {
					valued = append(valued, s)
				}
			}
			if f.Arg != "" && !f.Switch {
				rest += fishOffer(offerOf(f)) + " "
			}
			line(at, rest+"-d "+quote(brief(f.Says)))
		}
	}
	return fmt.Sprintf("set -g __art_commands %s\nset -g __art_payloads %s\nset -g __art_valued %s\n%s",
		strings.Join(names, " "), strings.Join(payloads, " "), strings.Join(valued, " "), b.String())
}

func fishOffer(offer string) string {
	switch offer {
	case "nothing":
		return "-x"
	case "files":
		return "-r -F"
	case "directories":
		return "-x -a '(__fish_complete_directories)'"
	case "variables":
		return "-x -a '(set -xn)'"
	case "processes":
		return "-x -a '(__fish_complete_pids)'"
	case "agents", "calls", "databases", "homes", "in_database", "in_workspace", "presets", "sessions":
		return "-x -a '(__art_" + offer + ")'"
	}
	return "-x -a '" + strings.ReplaceAll(offer, "|", " ") + "'"
}
