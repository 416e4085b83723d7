package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

func fileContent(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%8d", i), 5000) }

// committed waits until a transaction, or more, has taken all that was written, and succeeded.
func committed(s *Store) {
	for s.mu.Lock(); !s.tx.gather.empty() || s.tx.inflight != nil || s.tx.failed != nil; s.done.Wait() {
	}
	s.mu.Unlock()
}

// However much is written without a rest, the log does not grow with it, and all of it is there.
func TestLogStaysShort(t *testing.T) {
	h := defaults.bulk()
	h.logLimit, h.logMost, h.linger = 200_000, 400_000, time.Microsecond
	s, err := openStore(filepath.Join(memoryDir(t), "a.db"), Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	longest := int64(0)
	const count = 500
	for i := range count {
		f := create(t, s, fmt.Sprint(i), syscall.S_IFREG|0o600)
		must(t, s.WriteAt(f, fileContent(i), 0, nil, Now()))
		put(s, f)
		committed(s)
		st, err := os.Stat(s.Path() + "-wal")
		must(t, err)
		longest = max(longest, st.Size())
	}
	// A transaction's pages come to it before anyone looks; those of a new database's tables are the most.
	if most := int64(h.logMost + 700_000); longest > most {
		t.Errorf("the log has grown to %d bytes, beyond %d", longest, most)
	}
	path := s.Path()
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	defer s.Close()
	for i := range count {
		f := lookup(t, s, fmt.Sprint(i))
		if !bytes.Equal(content(t, s, f), fileContent(i)) {
			t.Errorf("file %d is damaged", i)
		}
		put(s, f)
	}
}

// A checkpoint beside the writer finds that the log cannot be synced. The kernel takes the log for
// written from then on, so the next one must not rely on it: the power may fail in its middle.
func TestCheckpointAfterAFailedSync(t *testing.T) {
	d, name := newDisk(t, honest)
	h := defaults
	h.query, h.linger, h.retry, h.logLimit, h.logMost = "vfs="+name, time.Microsecond, time.Millisecond, 200_000, 1<<40
	path := filepath.Join(memoryDir(t), "a.db")
	s, err := openStore(path, Options{Create: true, Root: rootAttr}, h)
	must(t, err)
	must(t, s.Close()) // all is in the database, and the log begins with what follows
	s, err = openStore(path, Options{}, h)
	must(t, err)
	written, failed := 0, false
	d.failWith(func(k eventKind, size int) error {
		written += size
		if k == synced && written > h.logLimit && !failed { // not that of the log's header
			failed = true
			return &os.PathError{Op: "fdatasync", Path: "a.db-wal", Err: syscall.EIO}
		}
		return nil
	})
	for i := range 60 {
		f := create(t, s, fmt.Sprint(i), syscall.S_IFREG|0o600)
		for err := s.WriteAt(f, fileContent(i), 0, nil, Now()); err != nil; err = s.WriteAt(f, fileContent(i), 0, nil, Now()) {
			must(t, recovers(s)) // a checkpoint beside it has just failed
		}
		put(s, f)
		committed(s)
	}
	must(t, recovers(s))
	must(t, s.Close())
	if !failed {
		t.Fatal("there was no checkpoint")
	}

	events := d.events
	from := slices.IndexFunc(events, func(e event) bool { return e.kind == unsynced })
	database := slices.IndexFunc(events, func(e event) bool { return e.kind == made && e.name == "a.db" })
	for seed := range uint64(2) { // it decides what the failed sync has left, too
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := newPlatter(nil, nil)
		for i, e := range events {
			p.play(e, rnd)
			if i < from || e.kind != wrote || e.file != events[database].file || i%7 != 0 {
				continue
			}
			if err := openable(t, p.cut(rnd)); err != nil {
				t.Fatalf("after event %d of %d, by seed %d: %v", i, len(events), seed, err)
			}
		}
	}
}

// openable tells whether what a power cut has left is a database with nothing wrong.
func openable(t *testing.T, img image) error {
	dir := memoryDir(t)
	defer os.RemoveAll(dir)
	for name, data := range img {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	path := filepath.Join(dir, "a.db")
	s, err := Open(path, Options{Create: true, Root: rootAttr})
	if err != nil {
		return err
	}
	return errors.Join(s.Close(), checkClean(path))
}
