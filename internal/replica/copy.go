// Package replica copies databases elsewhere while sessions write them, and brings them back. The copying is Litestream's
// (https://litestream.io): this package says when, to where, and whose copy it is. Of art's programs only art-replicate has it, since it
// brings SQLite once more and the clients of stores.
//
// A place holds art.json ([Head]), and below it a directory of Litestream's for each [Generation].
package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/replica/place"
)

const (
	// look is how often the log is looked at. With the time that a store takes, it is how far the copy is behind; each look makes files durable, which
	// the session feels: git add and commit take 9 % longer with it (four runs of eight: 7 to 10 %), and 10 % with 250 ms.
	look = 400 * time.Millisecond
	// retryMost is the longest time between two attempts at a store that is away.
	retryMost = 5 * time.Second
	// claimTime bounds an attempt to find out what is at a place, before anything is copied.
	claimTime = 20 * time.Second
	// stuck is how long the end waits for a store that takes nothing more.
	stuck = 30 * time.Second
	// takesNothing is from when on a place that says nothing passes for one that is away.
	takesNothing = 5 * time.Second
	// leaving is how long the end waits for the session's server, which commits what is left.
	leaving, serverPoll = 2 * time.Minute, 10 * time.Millisecond
	// retention is how far back a copy can be brought back to.
	retention = 7 * 24 * time.Hour
	// lookForOld is how often small files that were merged are looked for, to be removed: each time is two lists, which stores charge for.
	lookForOld = time.Minute
	// mostWaiting is how many bytes are kept for a place that is away. With more, nothing is, and the whole database is copied once the place is
	// back; meanwhile the session bounds its log.
	mostWaiting = 1 << 30
)

// Job is a copy that is being made.
type Job struct {
	what    *control.Replica
	tell    func(control.ReplicaState)
	most    uint64 // mostWaiting
	room    func(dir string) room
	place   *store // nil until it could be asked
	who     claimant
	taken   taken
	ctx     context.Context // ends when nobody waits for the copy any more
	abandon context.CancelCauseFunc
	db      *litestream.DB
	store   *litestream.Store
	tenure  *tenure       // of the generation that is written
	whole   chan struct{} // is closed once that has all of the database
	release func()        // ends the renewing of the lease
	// file is the database. Litestream's SQLite has locks of the process's, which the kernel drops when the process closes any descriptor
	// of the file (fcntl(2)): so this one is opened before, closed after, and nothing else opens the database meanwhile.
	file *os.File
	io   *os.File // /proc/self/io
	// sends says that what is read of a file is under way for a while. To a directory it is copied at once.
	sends bool

	mu      sync.Mutex
	since   time.Time            // when what is not copied was first seen; zero: all is. GUARDED_BY(mu)
	said    control.ReplicaState // the last time. GUARDED_BY(mu)
	local   error                // why the log could not be read, the last time. GUARDED_BY(mu)
	remote  error                // why it could not be copied, the last time. GUARDED_BY(mu)
	last    control.ReplicaEnd   // what art has said of the end. GUARDED_BY(mu)
	counted time.Time            // when it has, if it was Counted. GUARDED_BY(mu)
}

// Open finds out where a copy goes. It returns nil for a fork that is to be left. io is /proc/self/io, which cannot be opened any more once
// others are kept from this process; nil: how much is sent is not known.
func Open(what *control.Replica, io *os.File, tell func(control.ReplicaState)) (*Job, error) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // errors that count are told by this package
	j := &Job{what: what, io: io, tell: tell, most: mostWaiting, room: roomOf}
	j.ctx, j.abandon = context.WithCancelCause(context.Background())
	j.who = claimant{lease: leaseOf(what.Database, what.Token), takeOver: what.TakeOver}
	ctx, cancel := context.WithTimeout(j.ctx, claimTime)
	defer cancel()
	if err := place.Make(what.Place); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(what.Kept, 0o700); err != nil {
		return nil, fmt.Errorf("keep what is not copied yet: %w", err)
	}
	if what.LeaveForks {
		if fork, err := isFork(what.Database); err != nil || fork {
			return nil, err
		}
	}
	var err error
	if j.place, err = open(ctx, what.Place); err != nil && !IsRefused(err) {
		j.place, err = nil, nil // it may be away: it is looked for again, see attempt
	}
	j.sends = place.Directory(what.Place) == ""
	return j, err
}

// errAbandoned is why not all was copied that could have been.
var errAbandoned = errors.New("it was not waited for")

// Abandon has Run copy nothing more.
func (j *Job) Abandon() { j.abandon(errAbandoned) }

// Run copies until end is closed, and then what is left. The error is why not all was copied.
func (j *Job) Run(end <-chan struct{}) error {
	var repaired bool
	for {
		if err := j.claim(end); err != nil {
			if errors.Is(err, errUnused) {
				return nil
			}
			return err
		}
		j.say(control.ReplicaState{Claimed: true})
		j.release = j.tenure.holding(func(*Head) {}) // a large database takes its time to begin
		err := j.begin()
		j.release()
		if err != nil {
			_ = j.tenure.end(context.Background(), func(*Head) {}) // or it runs out
			if errors.As(err, new(*noPagesError)) && forgetPages(j.what.Kept) == nil {
				continue // with a whole copy
			}
			return err
		}
		j.release = j.tenure.holding(j.current)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { j.read(ctx) })
		running.Go(func() { j.compact(ctx) })
		up := j.beginUpload() // which goes on at the end: what is under way may be all of a large database
		tooMuch := make(chan struct{}, 1)
		letGo := func() {
			select {
			case tooMuch <- struct{}{}:
			default:
			}
		}
		running.Go(func() { j.report(ctx, letGo) })
		running.Go(func() { j.watchRoom(ctx, letGo) })
		select {
		case <-end:
			alone := j.awaitServer()
			cancel()
			running.Wait()
			if j.ending().Drop {
				up.abandon()
				return j.finish(alone, nil)
			}
			err := j.copyRest(up)
			if err == nil && !alone {
				err = errors.New("the session's server has not closed the database")
			}
			if err == nil {
				err = j.verify()
			}
			if errors.As(err, new(*goneError)) && !repaired {
				repaired = true
				if err := j.giveUp(); err != nil {
					return err
				}
				if err := forgetPages(j.what.Kept); err != nil {
					return err
				}
				continue // with a whole copy
			}
			return j.finish(alone, err)
		case <-j.tenure.gone:
			cancel()
			running.Wait()
			up.abandon()
			_ = j.giveUp() // the next one does it
			return j.tenure.confirm(context.Background())
		case <-tooMuch:
			cancel()
			running.Wait()
			up.abandon()
			if err := j.giveUp(); err != nil {
				return err
			}
			j.awaitRoom(end)
		}
	}
}

// read copies what is new in the log to files of Litestream's, and makes checkpoints.
func (j *Job) read(ctx context.Context) {
	// Not at once: what is ended while it opens the database leaves that half open (DB.init).
	late, stop := context.WithCancel(j.ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(8*look, stop) })()
	for every := time.NewTicker(look); ; {
		looked := time.Now()
		err := j.db.Sync(late)
		j.mu.Lock()
		if ctx.Err() == nil {
			j.local = err
		}
		switch behind := err != nil || j.waits(); {
		case !behind && j.remote == nil:
			j.since = time.Time{}
		case behind && j.since.IsZero():
			j.since = looked.Add(-look)
		}
		j.mu.Unlock()
		select {
		case <-ctx.Done():
			every.Stop()
			return
		case <-every.C:
		}
	}
}

// waits tells whether there is something that is not copied.
func (j *Job) waits() bool {
	pos, err := j.db.Pos()
	return err == nil && pos.TXID > j.db.Replica.Pos().TXID
}

// uploading copies those files to the place, in a goroutine.
type uploading struct {
	rest   chan struct{} // is closed when no more of them come
	done   chan error    // tells the end
	cancel context.CancelFunc
}

func (j *Job) beginUpload() *uploading {
	ctx, cancel := context.WithCancel(j.ctx)
	up := &uploading{make(chan struct{}), make(chan error, 1), cancel}
	go func() { up.done <- j.upload(ctx, up.rest) }()
	return up
}

// abandon has it copy nothing more.
func (u *uploading) abandon() {
	u.cancel()
	<-u.done
}

// upload copies until rest is closed, and then what is left.
func (j *Job) upload(ctx context.Context, rest <-chan struct{}) error {
	whole := sync.OnceFunc(func() { close(j.whole) })
	last := false
	for wait := look / 2; ; {
		if last || j.waits() || j.db.Replica.Pos().IsZero() {
			began := time.Now()
			err := j.db.Replica.Sync(ctx)
			if pos, perr := j.db.Pos(); perr == nil && pos.IsZero() && !last {
				err = nil // nothing was read yet
			} else if err == nil {
				if err = j.tenure.confirm(ctx); err == nil {
					whole()
				}
			}
			j.uploaded(ctx, began, err)
			wait = look / 2
			if last && (err == nil || IsRefused(err)) {
				return err
			}
			if err != nil {
				wait = min(max(2*wait, time.Second), retryMost)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rest:
			rest, last = nil, true
		case <-time.After(wait):
		}
	}
}

// compact has Litestream merge files at the place, and take a snapshot each day. Its own monitor would begin with one, beside the whole copy that each
// generation begins with.
func (j *Job) compact(ctx context.Context) {
	var levels sync.WaitGroup
	for _, level := range append(slices.Clone(litestream.DefaultCompactionLevels[1:]), j.store.SnapshotLevel()) {
		levels.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(level.NextCompactionAt(time.Now())) + j.offset(level.Interval)):
				}
				_, err := j.store.CompactDB(ctx, j.db, level)
				if err == nil && level.Level == litestream.SnapshotLevel {
					_ = j.store.EnforceSnapshotRetention(ctx, j.db) // the next time
				}
			}
		})
	}
	levels.Go(func() { j.prune(ctx) })
	levels.Wait()
}

// offset is when after the beginning of an interval this database's turn is, so that not all in a store have it at once.
func (j *Job) offset(interval time.Duration) time.Duration {
	return time.Duration(crc32.ChecksumIEEE([]byte(j.tenure.says().Place))) * time.Millisecond % min(interval, time.Hour)
}

// prune removes old generations, once the one that is written has all: until then an older one may be the only copy, whatever clocks say.
func (j *Job) prune(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-j.whole:
	}
	if removed := j.tenure.prune(ctx, time.Now().Add(-retention)); len(removed) > 0 {
		_ = j.tenure.renew(ctx, func(h *Head) { h.forget(removed) }) // or the end does it
	}
}

// uploaded notes how an attempt went.
func (j *Job) uploaded(ctx context.Context, began time.Time, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if j.remote = err; err == nil && j.local == nil {
		j.since = time.Time{}
		if j.waits() {
			j.since = began
		}
	}
}

// report tells how far the copy is, every second, and calls letGo when more waits than is kept for a place that takes nothing.
func (j *Job) report(ctx context.Context, letGo func()) {
	taken, at := j.taken.now(), time.Now()
	for every := time.NewTicker(time.Second); ; {
		s := j.state()
		j.say(s)
		if now := j.taken.now(); now != taken {
			taken, at = now, time.Now()
		}
		if s.Waits > j.most && (s.Why != "" || time.Since(at) > takesNothing) {
			letGo()
			return
		}
		select {
		case <-ctx.Done():
			every.Stop()
			return
		case <-every.C:
		}
	}
}

// state is how far the copy is.
func (j *Job) state() (s control.ReplicaState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.local != nil:
		s.Why = "read the log: " + explain(j.local).Error()
	case j.remote != nil:
		s.Why = explain(j.remote).Error()
	}
	if !j.since.IsZero() {
		s.Behind = milliseconds(j.since)
		s.Waits = j.waiting()
	}
	return s
}

func milliseconds(since time.Time) uint64 { return uint64(max(1, time.Since(since).Milliseconds())) }

// waiting is how many bytes wait to be copied.
func (j *Job) waiting() (bytes uint64) {
	entries, _ := os.ReadDir(j.db.LTXLevelDir(0))
	for _, e := range entries {
		if _, to, err := ltx.ParseFilename(e.Name()); err != nil || to <= j.db.Replica.Pos().TXID {
			continue
		}
		if info, err := e.Info(); err == nil {
			bytes += uint64(info.Size())
		}
	}
	return bytes
}

// current has a head say what is in the copy.
func (j *Job) current(h *Head) {
	db := j.db.SQLDB()
	if db == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// By Litestream's own connection, see file.
	row := db.QueryRowContext(ctx, `SELECT (SELECT ifnull(max(id), 0) FROM art_session), page_count*page_size,
		ifnull((SELECT CAST(path AS BLOB) FROM art_workspace ORDER BY whole DESC, name LIMIT 1), '') FROM pragma_page_count, pragma_page_size`)
	var session, size int64
	var workspace []byte
	if row.Scan(&session, &size, &workspace) == nil { // or it stays as it is until the next time
		h.Session, h.Size, h.Workspace, h.Changed = session, size, cmp.Or(string(workspace), h.Workspace), now()
	}
}
