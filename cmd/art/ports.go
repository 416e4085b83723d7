package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/quote"
	sessions "github.com/riverlytech/art/internal/session"
)

// portObject is a port as JSON has it.
type portObject struct {
	Session     string `json:"session"`
	Workspace   string `json:"workspace"`
	Address     string `json:"address"`
	HostPort    int    `json:"host_port"`
	GuestPort   int    `json:"guest_port"`
	Listening   bool   `json:"listening"`
	Open        int    `json:"open"`
	Connections int    `json:"connections"`
}

// runPorts lists the ports that sessions publish.
func runPorts(c *flags.Command, args []string) (int, error) {
	var asJSON bool
	line, err := c.Parse(args, map[string]any{"json": &asJSON})
	if err != nil {
		return c.Failed(err), err
	}
	var list []portObject
	if len(line.Words) > 0 {
		if list, err = portsOf(&sessions.Listed{SessionInfo: control.SessionInfo{ID: line.Words[0]}}); err != nil {
			return cli.ExitError, err
		}
	} else {
		for _, l := range sessions.List(sessions.Directories(os.Getenv)) {
			some, err := portsOf(&l)
			if err == nil { // one that has ended, or is of another version, has none
				list = append(list, some...)
			}
		}
	}
	if err := showPorts(os.Stdout, list, asJSON); err != nil {
		return cli.ExitError, err
	}
	return cli.OK, nil
}

// portsOf asks a session for its ports.
func portsOf(l *sessions.Listed) (list []portObject, err error) {
	var told control.PortsTold
	conn, err := sessions.Dial(sessions.Directories(os.Getenv), l.ID, control.AskPorts, nil, &told)
	if err != nil {
		return nil, err
	}
	conn.Close()
	if l.Workspace == "" && len(told.List) > 0 {
		if conn, err = sessions.Dial(sessions.Directories(os.Getenv), l.ID, control.AskInfo, nil, &l.SessionInfo); err != nil {
			return nil, err
		}
		conn.Close()
	}
	for _, p := range told.List {
		list = append(list, portObject{l.ID, l.Workspace, "127.0.0.1", p.Host, p.Guest, p.Listens, p.Open, p.Total})
	}
	return list, nil
}

func showPorts(out io.Writer, list []portObject, asJSON bool) error {
	if asJSON {
		for i := range list {
			text, err := quote.JSON(&list[i])
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(out, text); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(os.Stderr, "art: no port is published")
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tHOST\tGUEST\tLISTENS\tOPEN\tCONNECTIONS\tWORKSPACE")
	for _, p := range list {
		listens := "no"
		if p.Listening {
			listens = "yes"
		}
		fmt.Fprintln(table, strings.Join([]string{p.Session, p.Address + ":" + strconv.Itoa(p.HostPort), strconv.Itoa(p.GuestPort), listens,
			strconv.Itoa(p.Open), strconv.Itoa(p.Connections), quote.Name(p.Workspace, isTerminal(os.Stdout))}, "\t"))
	}
	return table.Flush()
}
