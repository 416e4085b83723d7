package sqlvfs

import (
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/diskvfs"
)

// A checkpoint copies the log back into the database, after which the next transaction begins the log
// anew. It takes as long as writing the log did, so it runs beside the writer, on a connection of its
// own, and over again for what has come meanwhile, until so little is left that the writer makes the
// last one itself: only while nobody writes can all of the log be copied. A writer that is faster than
// the checkpoint waits for it when the log has become too long (tuning.logMost).
//
// Readers and operations go on meanwhile; what a reader still needs is left for the next time.

// checkpointed is how a checkpoint went.
type checkpointed struct {
	copied int // pages of the log that are in the database
	err    error
}

// checkpoint sees to it that the log does not grow without end. That it cannot be copied is no error of the transactions in it, which are
// committed, and durable if they are to be. It is tried again, and Close tells what is wrong then.
func (w *writer) checkpoint() {
	h, log := w.store.tuning, w.logPages*w.pageSize
	limit := w.logLimit()
	if log < limit || w.checkpointing != nil && len(w.checkpointing) == 0 && log < h.logMost {
		return
	}
	w.awaitCheckpoint()
	if time.Since(w.uncopied) < h.retry || !w.copyFits(reserve) {
		return
	}
	if left := (w.logPages - w.copied) * w.pageSize; left > limit/8 && limit == h.logLimit && log < h.logMost {
		if w.beginCheckpoint() != nil {
			w.uncopied = time.Now()
		}
		return
	}
	w.noteCopied(copyLog(w.conn))
}

// noteCopied notes how a checkpoint went.
func (w *writer) noteCopied(p checkpointed) {
	if w.copied = max(w.copied, p.copied); p.err != nil {
		w.uncopied = time.Now()
	}
}

// beginCheckpoint begins a checkpoint beside the writer. None may be running.
func (w *writer) beginCheckpoint() error {
	log, err := diskvfs.Log(w.Conn)
	if err != nil {
		return err
	}
	if log.SyncFailed() {
		// Only the writer may write it once more, so a checkpoint must not find it like this: it would
		// take for durable what is not.
		if err := w.sync(); err != nil {
			return err
		}
	}
	if w.checkpointer == nil {
		if w.checkpointer, err = w.store.connectWriter(); err != nil {
			return err
		}
	}
	other, err := diskvfs.Log(w.checkpointer.Conn)
	if err != nil {
		return err
	}
	other.Follow(log)
	c, done := w.checkpointer, make(chan checkpointed, 1)
	w.checkpointing = done
	go func() { done <- copyLog(c) }()
	return nil
}

// awaitCheckpoint waits for the checkpoint that runs beside the writer, if one does.
func (w *writer) awaitCheckpoint() {
	if w.checkpointing == nil {
		return
	}
	p := <-w.checkpointing
	w.checkpointing = nil
	w.noteCopied(p)
	if p.err != nil {
		w.closeCheckpointer()
	}
}

// closeCheckpointer closes the connection for checkpoints. None may be running.
func (w *writer) closeCheckpointer() {
	if w.checkpointer != nil {
		// All that is left to be done is the writer's to do, and to tell.
		w.checkpointer.Close()
		w.checkpointer = nil
	}
}

// copyLog makes a checkpoint that waits for nobody.
func copyLog(c *conn) checkpointed {
	_, copied, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	if err != nil && !errors.Is(err, sqlite3.BUSY) {
		return checkpointed{copied, c.Cause(fmt.Errorf("checkpoint: %w", err))}
	}
	return checkpointed{copied, nil}
}
