package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/flags"
	"github.com/riverlytech/art/internal/netrule"
	"github.com/riverlytech/art/internal/quote"
)

// runGrant grants the guest of a session something on the network.
func runGrant(c *flags.Command, args []string) (int, error) {
	var once, session, always, deny bool
	var id string
	line, err := c.Parse(args, map[string]any{"once": &once, "session": &session, "always": &always, "deny": &deny, "id": &id})
	if err != nil {
		return c.Failed(err), err
	}
	ask := &control.GrantAsk{Rules: line.Words}
	given := 0
	for scope, is := range map[control.GrantScope]bool{control.GrantOnce: once, control.GrantSession: session, control.GrantAlways: always, control.GrantDeny: deny} {
		if is {
			ask.Scope = scope
			given++
		}
	}
	if given > 1 {
		err = c.Wrong("--once, --session, --always and --deny are one or another")
	}
	for _, word := range line.Words {
		if _, wrong := netrule.Parse(word); wrong != nil && err == nil {
			err = c.Wrong("%v", wrong)
		}
	}
	if err != nil {
		return c.Failed(err), err
	}
	made, err := grant(id, ask)
	if err == nil && made.File != "" {
		fmt.Fprintf(os.Stderr, "art: later sessions reach it too: %s\n", cli.Printable(made.File))
	}
	return c.Failed(err), err
}

// grant grants something in the session of an id, or in that of this workspace.
func grant(id string, ask *control.GrantAsk) (*control.GrantMade, error) {
	made := &control.GrantMade{}
	conn, err := askSession(ofID(id), control.AskGrant, ask, made)
	if err == nil {
		conn.Close()
	}
	return made, err
}

func ofID(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// runGrants shows what waits to be granted, and was.
func runGrants(c *flags.Command, args []string) (int, error) {
	var watch, asJSON bool
	line, err := c.Parse(args, map[string]any{"watch": &watch, "json": &asJSON})
	if err == nil && watch && asJSON {
		err = c.Wrong("--watch and --json are one or the other")
	}
	var id string
	if err == nil {
		id, err = chosenSession(line.Words, false)
	}
	if err == nil && watch {
		err = watchGrants(id)
		return c.Failed(err), err
	}
	var told *control.GrantsTold
	if err == nil {
		told, err = askGrants(id)
	}
	if err != nil {
		return c.Failed(err), err
	}
	if asJSON {
		err = grantsAsJSON(told)
		return c.Failed(err), err
	}
	for _, l := range grantLines(told) {
		fmt.Println(l.text())
	}
	if told.More > 0 {
		fmt.Fprintf(os.Stderr, "art: %d more wait\n", told.More)
	}
	return cli.OK, nil
}

func askGrants(id string) (*control.GrantsTold, error) {
	told := &control.GrantsTold{}
	conn, err := askSession(ofID(id), control.AskGrants, nil, told)
	if err == nil {
		conn.Close()
	}
	return told, err
}

// grantLine is a line about something that waits, was denied or was granted.
type grantLine struct {
	state  string
	asking control.Asking
	scope  string // of what was granted
}

func grantLines(told *control.GrantsTold) (lines []grantLine) {
	for _, a := range told.Waiting {
		lines = append(lines, grantLine{state: "waiting", asking: a})
	}
	for _, a := range told.Denied {
		lines = append(lines, grantLine{state: "denied", asking: a})
	}
	for _, g := range told.Granted {
		lines = append(lines, grantLine{state: "granted", scope: g.Scope.String(), asking: control.Asking{Since: g.Time, What: g.Rule, Allow: g.Rule, PID: g.PID, Command: g.Command}})
	}
	return lines
}

// text is the line as people see it: nothing of what a guest says does anything to their terminal, and a name is shown as it is sent
// over the network.
func (l *grantLine) text() string {
	a := &l.asking
	what := netrule.Shown(a.What)
	if a.Port != 0 {
		what = net.JoinHostPort(a.What, strconv.Itoa(a.Port)) + strings.TrimPrefix(what, a.What)
	}
	who := "?"
	if len(a.Command) > 0 {
		who = quote.Command(a.Command, 40)
	}
	how := l.scope
	switch l.state {
	case "waiting":
		how = fmt.Sprintf("for %d s", int(time.Since(a.Since).Seconds()))
	case "denied":
		how = cli.Printable(a.Why)
	}
	return fmt.Sprintf("%s  %-7s  %-32s  %s  (%s)", a.Since.Local().Format("15:04:05"), l.state, cli.Printable(what), who, how)
}

// grantObject is a line as JSON has it.
type grantObject struct {
	State   string    `json:"state"`
	Since   time.Time `json:"since"`
	Name    string    `json:"name"`
	Looks   string    `json:"looks,omitempty"`
	Port    int       `json:"port"`
	Rule    string    `json:"rule"`
	Scope   string    `json:"scope,omitempty"`
	Why     string    `json:"why,omitempty"`
	PID     int       `json:"pid"`
	Command []string  `json:"command"`
}

func grantsAsJSON(told *control.GrantsTold) error {
	for i, l := range grantLines(told) {
		a := &l.asking
		o := grantObject{State: l.state, Since: a.Since, Name: a.What, Looks: netrule.Looks(a.What), Port: a.Port, Rule: a.Allow, Why: a.Why, PID: a.PID, Command: a.Command}
		if o.Command == nil {
			o.Command = []string{}
		}
		if l.state == "granted" {
			o.Scope = told.Granted[i-len(told.Waiting)-len(told.Denied)].Scope.Word()
		}
		text, err := quote.JSON(&o)
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return nil
}
