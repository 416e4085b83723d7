package netledger

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/quote"
)

// Show says which flows are shown, and how.
type Show struct {
	JSON   bool
	Denied bool   // only what was denied
	Name   string // only this name or address, or with *. before it what is below; "" is any
}

// Matches tells whether a flow is shown.
func (s *Show) Matches(f *control.Flow) bool {
	if s.Denied && !f.Denied {
		return false
	}
	what, below := strings.ToLower(strings.TrimSuffix(f.What, ".")), false
	name := strings.ToLower(strings.TrimSuffix(s.Name, "."))
	if name, below = strings.CutPrefix(name, "*"); below {
		return strings.HasSuffix(what, name)
	}
	return name == "" || what == name
}

// object is a flow as JSON has it.
type object struct {
	Session  int64      `json:"session,omitempty"`
	Began    time.Time  `json:"began"`
	Ended    *time.Time `json:"ended"` // null: it is open, or nobody was left to say
	PID      *int       `json:"pid"`
	Command  []string   `json:"command"`
	Name     string     `json:"name"`
	Address  string     `json:"address,omitempty"`
	Port     int        `json:"port,omitempty"`
	Protocol string     `json:"protocol"`
	Denied   bool       `json:"denied"`
	Rule     string     `json:"rule,omitempty"`
	Why      string     `json:"why,omitempty"`
	Allow    string     `json:"allow,omitempty"`
	Sent     int64      `json:"sent"`
	Received int64      `json:"received"`
	Times    int64      `json:"times"`
}

// Line writes a flow, of a session in the log unless that is 0.
func (s *Show) Line(w io.Writer, session int64, f *control.Flow) error {
	if !s.JSON {
		_, err := fmt.Fprintln(w, text(f))
		return err
	}
	o := object{
		Session: session, Began: f.Began, Command: f.Command, Name: f.What, Address: f.Address, Port: f.Port, Protocol: f.Protocol, Denied: f.Denied,
		Rule: f.Rule, Why: f.Why, Allow: f.Allow, Sent: f.Sent, Received: f.Received, Times: f.Times,
	}
	if o.Command == nil {
		o.Command = []string{}
	}
	if !f.Open {
		o.Ended = &f.Ended
	}
	if f.PID != 0 {
		o.PID = &f.PID
	}
	line, err := quote.JSON(&o)
	if err == nil {
		_, err = fmt.Fprintln(w, line)
	}
	return err
}

// text is a flow as people are shown it.
func text(f *control.Flow) string {
	when := f.Began.Local().Format("2006-01-02 15:04:05")
	if f.What == "" && f.Denied {
		return fmt.Sprintf("%s  %d more denials were not kept", when, f.Times)
	}
	if f.What == "" {
		return fmt.Sprintf("%s  %d more were not kept", when, f.Times)
	}
	what := cli.Printable(f.What)
	if f.Port != 0 {
		what = net.JoinHostPort(what, strconv.Itoa(f.Port))
	}
	how := "reached"
	switch {
	case f.Protocol == GrantProtocol:
		how = "granted"
	case f.Denied:
		how = "denied"
	case f.Open:
		how = "open"
	case f.Why != "":
		how = "failed"
	}
	who := "?"
	if len(f.Command) > 0 {
		who = quote.Command(f.Command, 50)
	}
	var more []string
	if f.Sent+f.Received > 0 {
		more = append(more, fmt.Sprintf("%s out, %s in", cli.Bytes(f.Sent), cli.Bytes(f.Received)))
	}
	if f.Times > 1 {
		more = append(more, fmt.Sprintf("%d times", f.Times))
	}
	if why := cmp.Or(f.Why, f.Rule); why != "" {
		more = append(more, cli.Printable(why))
	}
	return strings.TrimRight(fmt.Sprintf("%s  %-7s  %-32s  %s  (%s)", when, how, what, who, strings.Join(more, "; ")), " ")
}
