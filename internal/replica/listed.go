package replica

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// listed is a generation whose files were listed: those of all levels at once, since a store takes its time for each list.
type listed struct {
	litestream.ReplicaClient
	levels [litestream.SnapshotLevel + 1][]*ltx.FileInfo
}

// listTime bounds how long lists are waited for, which Litestream does for a day.
const listTime = 2 * time.Minute

// list lists the files of a generation. Their times are those of what they hold if accurate, and otherwise of when they were written.
func list(ctx context.Context, client litestream.ReplicaClient, accurate bool) (*listed, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if err := client.Init(ctx); err != nil {
		return nil, err
	}
	l := &listed{ReplicaClient: client}
	var all sync.WaitGroup
	var errs [len(l.levels)]error
	for level := range l.levels {
		if level >= len(litestream.DefaultCompactionLevels) && level != litestream.SnapshotLevel {
			continue // no session writes any there
		}
		all.Go(func() {
			l.levels[level], errs[level] = collect(ctx, client, level, 0, accurate)
		})
	}
	all.Wait()
	return l, errors.Join(errs[:]...)
}

func (l *listed) LTXFiles(_ context.Context, level int, seek ltx.TXID, _ bool) (ltx.FileIterator, error) {
	var files []*ltx.FileInfo
	for _, f := range l.levels[level] {
		if f.MinTXID >= seek {
			files = append(files, f)
		}
	}
	return ltx.NewFileInfoSliceIterator(files), nil
}

// last is the number of the last file; 0: there is none.
func (l *listed) last() (last ltx.TXID) {
	for _, files := range l.levels {
		for _, f := range files {
			last = max(last, f.MaxTXID)
		}
	}
	return last
}

// reaches tells whether the files lead to a state, and returns how many bytes they have.
func (l *listed) reaches(ctx context.Context, txid ltx.TXID) (bytes int64, err error) {
	plan, err := litestream.CalcRestorePlan(ctx, l, txid, time.Time{}, slog.Default())
	if err == nil && plan[len(plan)-1].MaxTXID != txid {
		err = litestream.ErrTxNotAvailable
	}
	for _, f := range plan {
		bytes += f.Size
	}
	return bytes, err
}
