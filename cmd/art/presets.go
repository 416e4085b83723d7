package main

import (
	"io"
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/doctor"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/preset"
	"github.com/riverlytech/art/internal/sandbox"
)

// runPresets lists the presets, or checks one.
func runPresets(c *flags.Command, args []string) (code int, err error) {
	var asJSON, schema bool
	line, err := c.Parse(args, map[string]any{"json": &asJSON, "schema": &schema})
	if err != nil {
		return c.Failed(err), err
	}
	words := line.Words
	switch {
	case schema:
		_, err = io.WriteString(os.Stdout, preset.Schema())
	case len(words) == 0:
		code, err = sandbox.ListPresets(os.Stdout, asJSON)
	case words[0] != "check":
		err = c.Wrong("there is no command %q", words[0])
	case len(words) == 1:
		err = cli.WithHint(c.Wrong("no preset was given"), "art presets lists them")
	default:
		var findings []doctor.Finding
		if findings, err = checkPreset(words[1]); err == nil {
			code, err = doctor.Tell(findings, asJSON, os.Stdout)
		}
	}
	return max(code, c.Failed(err)), err
}

// checkPreset says what a preset finds on this host.
func checkPreset(name string) (findings []doctor.Finding, err error) {
	checks, err := sandbox.CheckPreset(name)
	for _, c := range checks {
		f := doctor.Finding{What: c.What, Says: c.Says, Fix: c.Fix}
		switch {
		case c.Failed:
			f.State = doctor.Fail
		case c.Fix != "":
			f.State = doctor.Note
		}
		findings = append(findings, f)
	}
	return findings, err
}
