package main

import (
	"os"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/doctor"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/sandbox"
)

// runDoctor looks what the host has. The flags of sessions are for those that it tries.
func runDoctor(c *flags.Command, args []string) (int, error) {
	d := &doctor.Options{Tools: sandbox.Tools}
	o, line, err := session(c, args, map[string]any{"attack": &d.Attack, "container": &d.Container, "json": &d.JSON})
	if err != nil {
		return c.Failed(err), err
	}
	d.Settle = func() ([]string, error) { return sandbox.Allowed(o) }
	d.Args = slices.DeleteFunc(line.Flags, func(flag string) bool {
		return strings.HasPrefix(flag, "--attack=") || strings.HasPrefix(flag, "--container=") || strings.HasPrefix(flag, "--json=") || strings.HasPrefix(flag, "--background=")
	})
	dir, err := sandbox.TrialWorkspace(o)
	if err != nil {
		return c.Failed(err), err
	}
	if dir != "" {
		defer os.RemoveAll(dir)
		o.Workspace, o.DefaultWorkspace = dir, false
		d.Args = append(d.Args, "--mount", dir)
	}
	code, err := doctor.Run(d, os.Stdout)
	return max(code, c.Failed(err)), err
}
