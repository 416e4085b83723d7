package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica"
)

// listed is a copy as art list --json has it.
type listed struct {
	URL       string     `json:"url"`
	Database  string     `json:"database"`
	Workspace string     `json:"workspace"`
	Host      string     `json:"host"`
	State     string     `json:"state"`
	Session   int64      `json:"session"`
	Changed   *time.Time `json:"changed"`
	Size      int64      `json:"size"`
	// Pending is null where it is not known.
	Pending *replica.Pending `json:"pending"`
	User    string           `json:"user"`
	PID     int              `json:"pid"`
	Since   *time.Time       `json:"since"`
	Error   string           `json:"error"`
}

// list shows the copies at a place and below it.
func list(url string, asJSON bool) error {
	debug.SetMemoryLimit(memory)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := confineTo(url, false); err != nil {
		return err
	}
	all, err := replica.List(ctx, url)
	if err != nil {
		return fmt.Errorf("list the copies at %s: %w", cli.Printable(url), err)
	}
	if asJSON {
		return listAsJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintf(stderr, "art: there is no copy at %s, nor below it\n", cli.Printable(url))
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if len(all) > 0 {
		fmt.Fprintln(w, "SIZE\tCHANGED\tSTATE\tPENDING\tHOST\tWORKSPACE\tURL")
	}
	now := time.Now()
	for _, c := range all {
		if c.Err != nil {
			fmt.Fprintf(w, "?\t?\t%s\t?\t\t\t%s\n", cli.Printable(c.Err.Error()), cli.Printable(c.URL))
			continue
		}
		h := c.Head
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", sizeCell(h), h.ChangedAt(), cli.Printable(h.StateAt(now)), pendingCell(h), cli.Printable(h.Host), cli.Printable(h.Workspace), cli.Printable(c.URL))
	}
	return w.Flush()
}

func listAsJSON(all []replica.Listed) error {
	var text strings.Builder
	for _, c := range all {
		l := listed{URL: c.URL}
		if h := c.Head; h != nil {
			l = listed{URL: c.URL, Database: h.Database, Workspace: h.Workspace, Host: h.Host, State: h.StateAt(time.Now()), Session: h.Session, Size: h.Size, Pending: h.Pending}
			if !h.Changed.IsZero() {
				l.Changed = &h.Changed
			}
			if by := h.Lease; by != nil && !by.Ended {
				l.User, l.PID, l.Since = by.User, by.PID, &by.Since
			}
		}
		if c.Err != nil {
			l.Error = c.Err.Error()
		}
		line, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	_, err := os.Stdout.WriteString(text.String())
	return err
}

// sizeCell says how large the database is, where its copy says something that can be.
func sizeCell(h *replica.Head) string {
	if h.Size == 0 {
		return "?"
	}
	return cli.Bytes(h.Size)
}

// pendingCell says how many paths are pending. While a session writes, nobody knows.
func pendingCell(h *replica.Head) string {
	if h.Pending == nil || h.State != replica.Ended {
		return "?"
	}
	return strconv.Itoa(h.Pending.Paths())
}
