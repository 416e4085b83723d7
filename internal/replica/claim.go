package replica

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// Before anything is copied, a job finds out whether it may: art has the session's command wait for that.

// isFork tells whether a database, which a session has open, is a fork.
func isFork(path string) (bool, error) {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return false, err
	}
	return len(s.Parents()) > 0, s.Close()
}

// claim gets the place for this session. While it cannot be asked, or may be another session's, it is asked again; at the end of the session
// that is why nothing was copied.
func (j *Job) claim(end <-chan struct{}) error {
	began := time.Now()
	var ended time.Time
	behind := began
	if !j.since.IsZero() { // it was given up
		behind = j.since
	}
	unsure := false
	for wait := look; ; wait = min(2*wait, retryMost) {
		var err error
		if j.who.mine, j.who.continues, err = identify(j.what.Database, j.what.Name); err != nil {
			return err
		}
		j.who.mine.Workspace = cmp.Or(j.who.mine.Workspace, j.what.Workspace)
		j.who.pages = keptPages(j.what.Kept)
		j.tenure, err = j.attempt(end)
		if j.ctx.Err() != nil {
			return context.Cause(j.ctx)
		}
		var no *refused
		if errors.As(err, &no) {
			return no
		}
		if err == nil {
			j.who.takeOver = false // once
			return nil
		}
		j.taken.goesOn() // it is for this loop to end
		held := errors.As(err, new(*heldError))
		if !errors.Is(err, errRace) {
			j.say(control.ReplicaState{Behind: milliseconds(behind), Why: err.Error(), Held: held})
		}
		unsure = unsure || !held // an answer may have been lost
		if held {
			wait = min(wait, time.Second)
		}
		select {
		case <-end:
			switch how := j.ending(); {
			case how.Drop && unsure:
				return err
			case how.Drop, how.Unused:
				return errUnused
			}
			if ended.IsZero() {
				ended = time.Now()
			}
			if claimedEnough(err, began, ended, time.Now()) {
				return err
			}
			select {
			case <-j.ctx.Done():
			case <-time.After(wait):
			}
		case <-time.After(wait):
		}
	}
}

// claimedEnough tells whether a session that has ended asks no more for a place that it could not get: one that another session holds has been
// watched for as long as a lease lasts by then, and one that cannot be asked has had as long since the end as it has for the rest of a copy.
func claimedEnough(err error, began, ended, now time.Time) bool {
	if errors.As(err, new(*heldError)) {
		return now.Sub(began) > leaseTime+leaseRenewed
	}
	return now.Sub(ended) > stuck
}

// errUnused says that a session has ended of which there is nothing to copy.
var errUnused = errors.New("the session has ended, and ran nothing")

// attempt makes one attempt to get the place. It ends when a session does of which there is nothing to copy.
func (j *Job) attempt(end <-chan struct{}) (*tenure, error) {
	ctx, cancel := context.WithTimeout(j.ctx, claimTime)
	defer cancel()
	go func() {
		select {
		case <-ctx.Done():
		case <-end:
			if how := j.ending(); how.Unused || how.Drop {
				cancel()
			}
		}
	}()
	if j.place == nil {
		var err error
		if j.place, err = open(ctx, j.what.Place); err != nil {
			return nil, err
		}
	}
	return j.who.claim(ctx, j.place)
}

// End notes how the session ends, before it does.
func (j *Job) End(how control.ReplicaEnd) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last, j.counted = how, now()
}

// ending is how.
func (j *Job) ending() control.ReplicaEnd {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}
