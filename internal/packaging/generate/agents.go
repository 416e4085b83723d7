package generate

import (
	"fmt"
	"strings"

	"github.com/riverlytech/art/internal/preset"
)

// agents is what the presets say, in mdoc(7).
func agents() (string, error) {
	presets, err := preset.Embedded()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range presets {
		writeAgent(&b, p)
	}
	return b.String(), nil
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
			item(head, mdoc(text)...)
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
	var reached []string
	for _, r := range p.Network {
		source, address, _ := strings.Cut(r.Source, ": https://")
		reached = append(reached, ".Li "+strings.Join(r.Hosts, " , "), "by "+roff(source)+",", ".Pa https://\\:"+strings.ReplaceAll(roff(address), "/", "/\\:")+" ;")
	}
	if len(reached) > 0 {
		reached[len(reached)-1] = strings.TrimSuffix(reached[len(reached)-1], " ;")
		item("Network", reached...)
	}
	if len(p.Hosts) > 0 {
		item("Hosts that it also talks to", ".Li "+strings.Join(p.Hosts, " , "))
	}
	if len(p.Secrets) > 0 {
		var secrets []string
		for i := range p.Secrets {
			secrets = append(secrets, ".Dl "+strings.ReplaceAll(roff(p.Secrets[i].Text()), `"`, `\(dq`))
		}
		item("Its keys as secrets of your settings", secrets...)
	}
	texts("Limits", p.Limits)
	b.WriteString(".El\n")
}
