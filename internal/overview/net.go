package overview

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/netledger"
	"github.com/riverlytech/art/sqlvfs"
)

// Net shows what guests have done on the network, the oldest first.
func Net(database string, show netledger.Show, o Options) error {
	s, err := openDatabase(database)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Flows()
	if err != nil {
		return fmt.Errorf("read the connections of %s: %w", database, err)
	}
	for _, f := range slices.Backward(list) {
		flow := flowOf(&f)
		if !show.Matches(&flow) {
			continue
		}
		if err := show.Line(o.Stdout, f.Session, &flow); err != nil {
			return err
		}
	}
	return nil
}

// Propose prints the settings that would allow what a session has reached on the network: of a number, or 0 for the last one that has.
func Propose(database string, session int64, o Options) error {
	s, err := openDatabase(database)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Flows()
	if err != nil {
		return fmt.Errorf("read the connections of %s: %w", database, err)
	}
	var used netledger.Used
	for i := range list {
		flow := flowOf(&list[i])
		if session == 0 && netledger.Reached(&flow) {
			session = list[i].Session
		}
		if list[i].Session == session {
			used.Add(&flow)
		}
	}
	text, err := used.Settings()
	if err == nil {
		_, err = io.WriteString(o.Stdout, text)
	}
	return err
}

// flowOf is a flow of a database, which anybody may have written, as it is shown.
func flowOf(f *sqlvfs.Flow) control.Flow {
	to := control.Flow{
		Number: f.Number, PID: f.PID, Command: f.Command, What: f.Name, Address: f.Address, Port: f.Port, Protocol: f.Protocol, Denied: f.Denied,
		Rule: f.Rule, Why: f.Why, Allow: f.Allow, Sent: f.Sent, Received: f.Received, Times: f.Times, Open: f.Ended == nil,
	}
	if t := moment(&f.Began); t != nil {
		to.Began = *t
	} else {
		to.Began = time.Unix(0, 0)
	}
	if t := moment(f.Ended); t != nil {
		to.Ended = *t
	}
	return to
}
