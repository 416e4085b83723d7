package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/replica/place"
	"github.com/riverlytech/art/sqlvfs"
	"github.com/riverlytech/art/sqlvfs/fsck"
)

func runCheck(c *flags.Command, args []string, stdout io.Writer) error {
	var mend, asJSON bool
	line, err := c.Parse(args, map[string]any{"repair": &mend, "json": &asJSON})
	if err == nil {
		err = place.Here(line.Words[0])
	}
	if err != nil {
		return err
	}
	var tell teller = &lines{stdout}
	if asJSON {
		tell = &objects{stdout}
	}
	if mend {
		return repair(tell, line.Words[0])
	}
	return check(tell, line.Words[0])
}

// check prints what is wrong with a database.
func check(tell teller, path string) error {
	findings, err := fsck.Check(path)
	if err != nil {
		return cli.WithHint(fmt.Errorf("check database %s: %w", path, err), openHint(path, err))
	}
	for _, f := range findings {
		if err := tell.finding(f); err != nil {
			return err
		}
	}
	if upTo, err := fsck.ByOther(path); err == nil && upTo != 0 { // a matter of history, and not of what the tree is
		if err := tell.finding(fsck.Finding{Text: sqlvfs.Other{UpTo: upTo}.String()}); err != nil {
			return err
		}
	}
	if len(findings) > 0 {
		return reported{errors.New("the database is not sound")}
	}
	return nil
}

// repair mends a database and prints what was wrong with it.
func repair(tell teller, path string) error {
	var printing error
	backup, err := fsck.Repair(path, func(f fsck.Finding) {
		if printing == nil {
			printing = tell.finding(f)
		}
	})
	switch {
	case errors.Is(err, sqlvfs.ErrCorrupt):
		return fmt.Errorf("repair database %s: %w", path, err)
	case err != nil:
		return cli.WithHint(fmt.Errorf("repair database %s: %w", path, err), openHint(path, err))
	case printing != nil || backup == "":
		return printing
	}
	return tell.repaired(path, backup)
}
