package main

import (
	"os"

	"github.com/riverlytech/art/internal/agent"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/sandbox"
)

// runAgent runs art agent.
func runAgent(c *flags.Command, args []string) (int, error) {
	c, args, err := c.Word(args)
	if err != nil {
		return c.Failed(err), err
	}
	o := &agent.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isTerminal(os.Stdout), Answer: answers()}
	line, err := c.Parse(args, map[string]any{"preset": &o.Preset, "json": &o.JSON, "force": &o.Force, "quiet": &o.Quiet})
	if err != nil {
		return c.Failed(err), err
	}
	switch c.Name {
	case "art agent ls":
		err = agent.List(o)
	case "art agent new":
		err = agent.New(line.Words[0], o)
	case "art agent rm":
		err = agent.Remove(line.Words[0], o)
	default:
		err = sandbox.Show(&sandbox.Options{Agent: line.Words[0], Workspace: ".", DefaultWorkspace: true, Quiet: true}, os.Stdout, o.JSON)
	}
	return c.Failed(err), err
}
