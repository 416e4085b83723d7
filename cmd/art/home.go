package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/home"
	"github.com/riverlytech/art/internal/preset"
)

// runHome runs art home.
func runHome(c *flags.Command, args []string) (int, error) {
	c, args, err := c.Word(args)
	if err != nil {
		return c.Failed(err), err
	}
	if c.Name == "art home diff" { // which art is not linked with
		return cli.ExitTrouble, runSync(append([]string{"home diff"}, args...))
	}
	o := &home.Options{Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isTerminal(os.Stdout), Answer: answers()}
	line, err := c.Parse(args, map[string]any{"json": &o.JSON, "force": &o.Force, "quiet": &o.Quiet})
	if err != nil {
		return c.Failed(err), err
	}
	switch c.Name {
	case "art home ls":
		err = home.List(o)
	case "art home rm":
		code := cli.OK
		for _, name := range line.Words {
			if err := home.Remove(name, o); err != nil {
				cli.Fail("art", err)
				code = cli.ExitError
			}
		}
		return code, nil
	default:
		o.Seeds = seeds(line.Words[0])
		err = home.Seed(line.Words[0], line.Words[1:], o)
	}
	return c.Failed(err), err
}

// seeds returns the paths that presets say are safe to copy into their home.
func seeds(name string) (paths []string) {
	for _, n := range preset.Names() {
		if p, err := preset.Load(n); err == nil && p.Home == name {
			for _, s := range p.Seed {
				paths = append(paths, s.Path)
			}
		}
	}
	return paths
}

// answers is who can be asked a question, or nil.
func answers() io.Reader {
	if isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		return os.Stdin
	}
	return nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
