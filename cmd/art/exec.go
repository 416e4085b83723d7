package main

import (
	"os"
	"slices"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/sandbox"
	sessions "github.com/riverlytech/art/internal/session"
)

// runExec runs another program in a session.
func runExec(c *flags.Command, args []string) (int, error) {
	o := &sandbox.ExecOptions{Interactive: true}
	line, err := c.Parse(args, map[string]any{"env": &o.Env, "cwd": &o.Dir, "interactive": &o.Interactive})
	if err != nil {
		return cli.ExitArt, err
	}
	var id []string
	id, o.Command = execWords(line.Words, line.Ended, sessions.IDs(sessions.Directories(os.Getenv)))
	x, err := sandbox.NewExec(o)
	if err != nil {
		return cli.ExitArt, err
	}
	conn, err := askSession(id, control.AskExec, x.Ask(), nil)
	if err != nil {
		return cli.ExitArt, err
	}
	defer conn.Close()
	return x.Run(conn.File)
}

// execWords splits the words of art exec into the id of a session, if one is named, and the command. Ended says that the
// command alone follows a --, and ids are those of the sessions that run.
func execWords(words []string, ended bool, ids []string) (id, command []string) {
	switch {
	case ended, len(words) == 0:
		return nil, words
	case len(words) > 1 && words[1] == "--":
		return words[:1], words[2:]
	case slices.Contains(ids, words[0]):
		return words[:1], words[1:]
	}
	return nil, words
}
