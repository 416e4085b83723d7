package man

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/riverlytech/art/internal/preset"
)

// AgentsPage is the page that shows the presets.
const AgentsPage = "art-agents.7"

// What the presets say is between these lines of it.
const (
	agentsBegin = `.\" begin of what go generate writes from internal/preset/presets`
	agentsEnd   = `.\" end of it`
)

// WithAgents returns the source of that page with the presets as they are now.
func WithAgents(page string) (string, error) {
	before, rest, ok := strings.Cut(page, agentsBegin+"\n")
	_, after, ok2 := strings.Cut(rest, agentsEnd+"\n")
	if !ok || !ok2 {
		return "", errors.New(AgentsPage + ": the lines that mark the presets are not there")
	}
	presets, err := preset.Embedded()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range presets {
		writeAgent(&b, p)
	}
	return before + agentsBegin + "\n" + b.String() + agentsEnd + "\n" + after, nil
}

// writeAgent writes the part about an agent, in mdoc(7).
func writeAgent(b *strings.Builder, p *preset.Preset) {
	fmt.Fprintf(b, ".Ss art %s\n%s.\n.Bl -tag -width Ds\n", p.Name, roff(p.About))
	item := func(head string, lines ...string) {
		fmt.Fprintf(b, ".It %s\n", head)
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	texts := func(head, text string) {
		if text != "" {
			item(head, sentences(text)...)
		}
	}
	item("Program", ".Pa "+strings.Join(p.Program, " , "))
	texts("Login", p.Login)
	if len(p.Arguments) > 0 {
		item("Arguments before yours", roff(strings.Join(p.Arguments, " ")))
	}
	if len(p.Unasked) > 0 {
		item("And where changes stay apart", roff(strings.Join(p.Unasked, " ")))
	}
	texts("Its own sandbox", p.Sandbox)
	var env, set []string
	for _, e := range p.Settings.Env {
		env = append(env, e.Value)
	}
	for _, v := range p.Settings.Set {
		set = append(set, roff(v.Name+"="+v.Value))
	}
	if len(env) > 0 {
		item("Variables of yours", ".Ev "+strings.Join(env, " , "))
	}
	if len(set) > 0 {
		item("Variables that are set", strings.Join(set, ", "))
	}
	var seeds []string
	for _, s := range p.Seed {
		seeds = append(seeds, s.Path)
	}
	if len(seeds) > 0 {
		item("Copied by art home seed "+p.Name, ".Pa "+strings.Join(seeds, " , "))
	}
	var held []string
	for _, h := range p.Hold {
		held = append(held, h.Text)
	}
	if len(held) > 0 {
		item("Held back by pull, beside the table of \\&art(7)", ".Pa "+strings.Join(held, " , "))
	}
	texts("Hooks", p.Hooks)
	if len(p.Hosts) > 0 {
		item("Network", ".Li "+strings.Join(p.Hosts, " , "))
	}
	texts("Limits", p.Limits)
	b.WriteString(".El\n")
}

// special is what roff takes for something else than itself (groff_char(7)).
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "'", `\(aq`, "`", `\(ga`)

// variable is a name that is not to be broken in two.
var variable = regexp.MustCompile(`[A-Z0-9]+_[A-Z0-9_]+`)

// roff is a text for a line of its own.
func roff(text string) string {
	text = escaped(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// sentences are the lines of a paragraph: each sentence is on one, as mdoc(7) wants it, and what is between backquotes is
// marked as typed.
func sentences(text string) []string {
	var lines []string
	for _, s := range strings.SplitAfter(text, ". ") {
		var b strings.Builder
		for i, part := range strings.Split(strings.TrimSpace(s), "`") {
			if i > 0 {
				b.WriteString([]string{`\(cq`, `\(oq`}[i%2])
			}
			b.WriteString(escaped(part))
		}
		line := b.String()
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		lines = append(lines, line)
	}
	return lines
}

func escaped(text string) string { return variable.ReplaceAllString(special.Replace(text), `\%$0`) }
