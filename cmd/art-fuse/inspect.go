package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/inspect"
	"github.com/riverlytech/art/internal/replica/remote"
	"github.com/riverlytech/art/sqlvfs"
)

// look returns a command that shows paths of a database opened for reading.
func look(show func(io.Writer, *sqlvfs.Store, string, inspect.Options) error) func(*flags.Command, []string, io.Writer) error {
	return func(c *flags.Command, args []string, stdout io.Writer) (err error) {
		var opt inspect.Options
		var at string
		line, err := c.Parse(args, map[string]any{"l": &opt.Long, "p": &opt.Slash, "json": &opt.JSON, "base": &opt.Base, "name": &opt.Name, "at": &at})
		if err != nil {
			return err
		}
		paths := line.Words[1:]
		if len(paths) == 0 {
			paths = []string{"/"}
		}
		if opt.Base, opt.Name, err = workspace(opt.Base, opt.Name); err != nil {
			return err
		}
		if f, ok := stdout.(*os.File); ok {
			opt.Terminal = term.IsTerminal(int(f.Fd()))
		}
		end, err := remote.Open(prog, line.Words[0])
		if err != nil {
			return err
		}
		defer end(&err)
		store, err := openWith(line.Words[0], sqlvfs.Options{ReadOnly: true, At: at})
		if err != nil {
			return err
		}
		defer store.Close()
		out := bufio.NewWriter(stdout)
		defer out.Flush() // what came before an error, before it
		for _, path := range paths {
			if err := show(out, store, path, opt); err != nil {
				return err
			}
		}
		return out.Flush()
	}
}

// workspace returns the absolute path of a host directory, if one is given, and the name it has in the tree.
func workspace(dir, name string) (string, string, error) {
	if dir == "" {
		return "", name, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	if name == "" {
		name = filepath.Base(dir)
	}
	if !sqlvfs.ValidName(name) {
		return "", "", flags.Fuse.Wrong("%s cannot be the name of a workspace; give --name", name)
	}
	return dir, name, nil
}
