package session

import (
	"errors"
	"slices"
	"sync"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/processes"
)

// Listed is a session, as a list has it.
type Listed struct {
	control.SessionInfo
	Usage processes.Usage
	Err   error // why nothing is known of it
}

// List returns all sessions, the oldest first.
func List(dirs []string) []Listed {
	ids := IDs(dirs)
	all := make([]Listed, len(ids))
	var wait sync.WaitGroup
	for i, id := range ids {
		wait.Go(func() {
			conn, err := Dial(dirs, id, control.AskInfo, nil, &all[i].SessionInfo)
			if err == nil {
				conn.Close()
			}
			if _, other := errors.AsType[*OtherVersionError](err); other || errors.Is(err, errSilent) {
				all[i].Err = err
			} else if err != nil {
				return // it has ended meanwhile
			}
			all[i].ID = id
		})
	}
	wait.Wait()
	all = slices.DeleteFunc(all, func(l Listed) bool { return l.ID == "" })
	slices.SortFunc(all, func(a, b Listed) int { return a.Started.Compare(b.Started) })
	usage := processes.UsageBelow()
	for i := range all {
		all[i].Usage = usage(all[i].PID)
	}
	return all
}
