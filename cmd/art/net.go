package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/netledger"
)

// runNet shows what a guest does on the network: of a session that runs, or by art-sync what is in the database.
func runNet(c *flags.Command, args []string) (int, error) {
	var show netledger.Show
	var follow, live, propose bool
	var ignored string
	line, err := c.Parse(args, map[string]any{
		"json": &show.JSON, "denied": &show.Denied, "host": &show.Name, "follow": &follow, "live": &live, "propose": &propose, "mount": &ignored, "db": &ignored, "agent": &ignored,
	})
	if err != nil {
		return cli.ExitArt, err
	}
	if propose && (follow || show.JSON || show.Denied || show.Name != "") {
		return cli.ExitArt, c.Wrong("--propose prints settings, and takes no flag but --live")
	}
	if !follow && !live {
		if len(line.Words) > 0 && !propose {
			return cli.ExitArt, c.Wrong("a session is named with --live or --follow")
		}
		return cli.ExitError, runSync(slices.Concat([]string{"net"}, args))
	}
	conn, err := askSession(line.Words, control.AskFlows, &control.FlowsAsk{Follow: follow}, nil)
	if err != nil {
		return cli.ExitError, err
	}
	defer conn.Close()
	var used netledger.Used
	for {
		data, err := conn.Receive()
		switch {
		case !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET):
		case propose:
			return printProposal(&used)
		default:
			return cli.OK, nil
		}
		var told control.FlowsTold
		if err == nil {
			err = control.Unmarshal(data, &told)
		}
		if err != nil {
			return cli.ExitError, fmt.Errorf("follow the network: %w", err)
		}
		for i := range told.List {
			if propose {
				used.Add(&told.List[i])
			} else if show.Matches(&told.List[i]) {
				if err := show.Line(os.Stdout, 0, &told.List[i]); err != nil {
					return cli.ExitError, err
				}
			}
		}
	}
}

// printProposal prints the settings that would allow what was reached.
func printProposal(used *netledger.Used) (int, error) {
	text, err := used.Settings()
	if err != nil {
		return cli.ExitError, err
	}
	fmt.Print(text)
	return cli.OK, nil
}
