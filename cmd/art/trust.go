package main

import (
	"os"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/sandbox"
)

// runTrust shows what the settings of a workspace ask for, and allows it. Its flags have no environment variables: trust
// is given by who types it.
func runTrust(c *flags.Command, args []string) (int, error) {
	o := sandbox.TrustOptions{Workspace: "."}
	line, err := c.Parse(args, map[string]any{"mount": &o.Workspace, "revoke": &o.Revoke, "dry-run": &o.DryRun, "json": &o.JSON})
	switch {
	case err != nil:
		return c.Failed(err), err
	case len(line.Words) > 0 && line.Given("mount"):
		return cli.ExitUsage, c.Wrong("%q is one directory too many", line.Words[0])
	case len(line.Words) > 0:
		o.Workspace = line.Words[0]
	}
	err = sandbox.Trust(&o, os.Stdout)
	return c.Failed(err), err
}
