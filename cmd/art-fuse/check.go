package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/peterbourgon/ff/v3/ffcli"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

const checkUsage = `usage: art-fuse check DB [--repair] [--json]

Check that a database is sound: as an SQLite file, and as a tree by the rules
of its format. Prints one line for each violation. Nothing is changed. A session
may be running; then its last commit is checked.

  --repair  mend what was found. What can be read is copied into a new file and
            mended there, which then takes the place of DB; the file as it was
            stays beside it as DB.before-repair (or -2, -3, ...). Files that
            have lost their names are in /lost+found afterwards. Each line says
            what was done. No other program may have the database open. An
            interruption leaves DB as it was, or repaired.
  --json    an object a line for each violation: text, and if there is one, the
            inode (ino) and what was done (mended); at the end of a repair,
            where the file as it was is (before)

Exit 0 when the database is sound, or is now; 1 when it is not, or cannot be
checked; 2 on wrong usage.

examples:
  art-fuse check work.db
  art-fuse check --repair work.db
`

func checkCommand(stdout io.Writer) *ffcli.Command {
	set := flag.NewFlagSet("art-fuse check", flag.ContinueOnError)
	mend := set.Bool("repair", false, "")
	asJSON := set.Bool("json", false, "")
	return &ffcli.Command{
		Name:      "check",
		FlagSet:   set,
		Options:   options,
		UsageFunc: func(*ffcli.Command) string { return checkUsage },
		Exec: func(_ context.Context, args []string) error {
			args, err := flagsAnywhere(set, args)
			if err != nil {
				return err
			}
			if len(args) != 1 {
				return usageError("check needs a database, and only that")
			}
			var tell teller = &lines{stdout}
			if *asJSON {
				tell = &objects{stdout}
			}
			if *mend {
				return repair(tell, args[0])
			}
			return check(tell, args[0])
		},
	}
}

// check prints what is wrong with a database.
func check(tell teller, path string) error {
	findings, err := sqlvfs.Check(path)
	if err != nil {
		return cli.WithHint(fmt.Errorf("check database %s: %w", path, err), openHint(path, err))
	}
	for _, f := range findings {
		if err := tell.finding(f); err != nil {
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
	backup, err := sqlvfs.Repair(path, newRoot(), func(f sqlvfs.Finding) {
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
