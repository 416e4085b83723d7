package sqlvfs

import (
	"fmt"
	"time"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

const (
	// MaxChanges bounds what is kept of changes. The oldest go first.
	MaxChanges = 1_000_000
	// maxQuietOfAll bounds what is kept of all sessions' processes that have changed nothing. The oldest go first.
	maxQuietOfAll = 50_000
	// thinLogEvery is how long the log is left alone: to thin it is to read it all.
	thinLogEvery = 10 * time.Minute
	// thinnedKey is the key of the highest number of a process that was dropped: what has a higher one, and is gone, has been taken away.
	thinnedKey = "art_thinned"
)

// thinLog drops from the log of processes what nothing asks for any more. oldest is the oldest checkpoint; 0: there is none.
func (w *writer) thinLog(k *Keep, oldest int64) error {
	if time.Since(w.logThinned) < thinLogEvery {
		return nil
	}
	w.logThinned = time.Now()
	there, err := database.Has(w.Conn, "art_process")
	if err != nil || !there {
		return err
	}
	changes, err := database.Has(w.Conn, "art_change")
	if err != nil {
		return err
	}
	err = w.transact(func() error {
		if changes {
			if err := w.thinChanges(oldest, MaxChanges); err != nil {
				return err
			}
		}
		return w.thinProcesses(k, changes, maxQuietOfAll)
	})
	if err != nil {
		return fmt.Errorf("thin the log of processes: %w", w.Cause(err))
	}
	return nil
}

// thinChanges drops changes from before the oldest checkpoint, of inodes that are nowhere any more, and of others those that later ones
// have covered: of what is older than all that can be shown, all that can be told is who has made and named it, and who wrote it last.
func (w *writer) thinChanges(oldest, most int64) error {
	err := do(w.conn, `DELETE FROM main.art_change WHERE checkpoint<?1 AND NOT EXISTS (SELECT 1 FROM fs_inode i WHERE i.ino=art_change.ino)
		AND NOT EXISTS (SELECT 1 FROM main.art_old_inode o WHERE o.ino=art_change.ino)`, oldest)
	if err == nil {
		err = do(w.conn, `WITH latest AS MATERIALIZED (SELECT ino, max(last) AS last FROM main.art_change WHERE checkpoint<?1 AND what & ?2 GROUP BY ino)
			DELETE FROM main.art_change WHERE checkpoint<?1 AND NOT what & ?3
				AND NOT (what & ?2 AND last=(SELECT l.last FROM latest l WHERE l.ino=art_change.ino))`, oldest, int64(Written), int64(Made|Named))
	}
	n := int64(0)
	if err == nil {
		n, err = queryNumber(w.conn, "SELECT count(*) FROM main.art_change")
	}
	if err == nil && n > most {
		err = do(w.conn, "DELETE FROM main.art_change WHERE last<=(SELECT last FROM main.art_change ORDER BY last DESC LIMIT 1 OFFSET ?)", most)
	}
	return err
}

// thinProcesses drops processes that have changed nothing that is known: those that are older than the history that is kept, those of
// sessions that the log of sessions has no more, and the oldest of too many. Those that run now stay.
func (w *writer) thinProcesses(k *Keep, changes bool, most int64) error {
	quiet := "NOT (ended IS NULL AND session=(SELECT max(id) FROM art_session))"
	if changes {
		quiet += " AND id NOT IN (SELECT process FROM main.art_change)"
	}
	before := int64(0)
	if k.For > 0 {
		before = Now().Sec - int64(k.For.Seconds())
	}
	err := w.dropProcesses(quiet+" AND (started<? OR session<>0 AND session NOT IN (SELECT id FROM art_session))", before)
	if err == nil {
		err = w.dropProcesses(quiet+" AND id<=(SELECT id FROM main.art_process WHERE "+quiet+" ORDER BY id DESC LIMIT 1 OFFSET ?)", most)
	}
	return err
}

// dropProcesses drops the processes of a condition, and writes down that it did.
func (w *writer) dropProcesses(where string, arg int64) error {
	last, err := queryNumber(w.conn, "SELECT ifnull(max(id), 0) FROM main.art_process WHERE "+where, arg)
	if err != nil || last == 0 {
		return err
	}
	if err := do(w.conn, "DELETE FROM main.art_process WHERE "+where, arg); err != nil {
		return err
	}
	return do(w.conn, `INSERT INTO fs_config (key, value) VALUES (?1, CAST(?2 AS TEXT))
		ON CONFLICT (key) DO UPDATE SET value=CAST(max(CAST(value AS INTEGER), ?2) AS TEXT)`, thinnedKey, last)
}
