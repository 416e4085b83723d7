package fs

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// A file that the guest has changed in part needs the rest of its content as the host had it. So that it does not for
// long, a small one is copied into the delta soon after it was first written to, and of each the hash is taken, by which
// another version of the host's file with the same content is recognized (origin.go, hashes.go). Neither is done while
// the guest waits for a write.

// BackfillLimits bounds what is copied and hashed of the base's files.
type BackfillLimits struct {
	// MaxFile is the size up to which a file is copied into the delta, in bytes. 0: none is.
	MaxFile int64
	// AtEnd is how long what is left may take at the end of a session.
	AtEnd time.Duration
}

const (
	quiet      = time.Second            // from a write until the rest of the file is looked at
	lastHashes = 100 * time.Millisecond // that the hashes of versions may take at the end of a session

	wholeFiles = 16 // so many files of the largest size are copied in one session, or more that are smaller
	wholeShare = 8  // a copy must be smaller than this part of the disk's free space
)

// backfiller copies and hashes the files of the base that were changed in part.
type backfiller struct {
	o       *Overlay
	lim     BackfillLimits
	room    int64         // for copies in this session, in bytes
	hashes  int64         // for hashes of versions in this session, in bytes
	ending  bool          // the session is over: only its user waits
	signals chan struct{} // holds a token if any file may be queued

	// Changed in steps only.
	partial  map[sqlvfs.Ino]struct{}
	versions map[string]version // to be hashed, by their paths in the base
}

// Backfill begins to copy, in the background, the rest of files that are changed in part, as far as the limits allow, and to
// take the hashes of their origins. end finishes, and is to be called once, when nothing else uses the overlay any more. What
// cannot be read is left as it is; who reads it later gets [sqlvfs.ErrBaseChanged].
func (o *Overlay) Backfill(lim BackfillLimits) (end func()) {
	if o.host == nil || o.store.ReadOnly() {
		return func() {}
	}
	k := &backfiller{o: o, lim: lim, room: wholeFiles * lim.MaxFile, hashes: hashedBytes,
		partial: map[sqlvfs.Ino]struct{}{}, versions: map[string]version{}, signals: make(chan struct{}, 1)}
	o.view(func(t *tx) error {
		t.backfiller = k
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	return func() {
		cancel()
		<-done
		k.ending = true
		ctx, cancel := context.WithTimeout(context.Background(), lim.AtEnd)
		defer cancel()
		k.backfillAll(ctx)
		hashes, cancel := context.WithTimeout(ctx, lastHashes)
		defer cancel()
		k.hashVersions(hashes)
	}
}

// enqueue queues a file that was changed, for its rest to be copied, or its origin to be hashed.
func (k *backfiller) enqueue(n *node) {
	if k == nil || n.in == nil || n.base == nil || n.in.Origin == nil || n.in.Origin.Hash != "" || n.in.Origin.Base != k.o.name {
		return
	}
	if !n.needsOrigin() {
		k.enqueueHash(n.in.Origin.Path, version{n.in.Ino, n.in.Baseline()})
		return
	}
	if _, ok := k.partial[n.in.Ino]; ok {
		return
	}
	k.partial[n.in.Ino] = struct{}{}
	k.signal()
}

// signal says that something was queued.
func (k *backfiller) signal() {
	select {
	case k.signals <- struct{}{}:
	default:
	}
}

// enqueueEarlier queues the files that earlier sessions had no time for.
func (k *backfiller) enqueueEarlier() {
	k.o.view(func(t *tx) error {
		list, err := t.db.Dependents(t.name)
		if err != nil {
			return err // whoever needs them will be told
		}
		for _, n := range list {
			if n.Holds && n.Origin.Hash == "" {
				k.partial[n.Ino] = struct{}{}
			}
		}
		return nil
	})
}

// run empties the queues a while after something was put there.
func (k *backfiller) run(ctx context.Context) {
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-time.After(quiet):
		}
		if first {
			k.enqueueEarlier()
		}
		k.backfillAll(ctx)
		k.hashVersions(ctx)
		select {
		case <-ctx.Done():
			return
		case <-k.signals:
		}
	}
}

// backfillAll empties the queue of files. What cannot be read is given up: reading will tell.
func (k *backfiller) backfillAll(ctx context.Context) {
	for {
		ino, _, ok := pop(k.o, k.partial)
		if !ok {
			return
		}
		err := k.backfillOne(ctx, ino)
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			k.o.view(func(*tx) error {
				k.partial[ino] = struct{}{}
				return nil
			})
			return
		}
	}
}

// backfillOne copies the rest of a file, if that is allowed, and hashes its origin.
func (k *backfiller) backfillOne(ctx context.Context, ino sqlvfs.Ino) error {
	o := k.o
	var was *sqlvfs.Origin
	in, err := query(o, viewing, func(t *tx) (*sqlvfs.Inode, error) {
		in, err := t.db.Get(ino)
		if err == nil {
			was = in.Origin
		}
		return in, err
	})
	if err != nil {
		return err
	}
	defer o.put(in)
	if was == nil || was.Limit == 0 || was.Base != o.name {
		return nil
	}
	f, err := k.open(was.Path, was.Fingerprint)
	if err != nil {
		return err
	}
	defer f.Close()
	if k.mayCopy(f.Size) {
		k.room -= f.Size
		if err := o.store.Fill(in, stableFile{f}, f.sparse(), func(int) error { return ctx.Err() }); err != nil {
			return err
		}
	}
	hash, err := k.hash(ctx, f)
	if err != nil {
		return err
	}
	return o.view(func(t *tx) error {
		t.setHash(in, f.Fingerprint, hash)
		return nil
	})
}

// open opens a file of the base, if it is there in that version.
func (k *backfiller) open(path string, version sqlvfs.Fingerprint) (*HostFile, error) {
	f, err := k.o.host.Open(path)
	if err == nil && f.Fingerprint != version {
		f.Close()
		return nil, sqlvfs.ErrBaseChanged
	}
	return f, err
}

// pop takes anything out of a queue, unless that is empty.
func pop[K comparable, V any](o *Overlay, queue map[K]V) (key K, value V, ok bool) {
	o.view(func(*tx) error {
		for key, value = range queue {
			ok = true
			break
		}
		delete(queue, key)
		return nil
	})
	return key, value, ok
}

// put ends a reference to an inode.
func (o *Overlay) put(in *sqlvfs.Inode) {
	o.view(func(t *tx) error {
		t.db.Put(in)
		return nil
	})
}

// mayCopy tells whether a file is small enough to be copied.
func (k *backfiller) mayCopy(size int64) bool {
	if size > k.lim.MaxFile || size > k.room {
		return false
	}
	st, err := k.o.Statfs()
	return err == nil && uint64(size)*wholeShare <= st.BlocksAvailable*uint64(st.BlockSize)
}

// stableFile is a file of the base that must not change while it is read.
type stableFile struct{ *HostFile }

var _ io.ReaderAt = stableFile{}

// ReadAt implements io.ReaderAt.
func (f stableFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.HostFile.ReadAt(p, off)
	if _, now, serr := f.stat(); serr == nil && now != f.Fingerprint {
		return 0, sqlvfs.ErrBaseChanged
	}
	return n, err
}

// hash takes the hash of a file, at a low priority if that takes long and anybody waits for the processor.
func (k *backfiller) hash(ctx context.Context, f *HostFile) (string, error) {
	if k.ending || f.Size <= 1<<20 { // which takes no longer than a thread
		return f.hash(ctx)
	}
	return f.hashAtLowPriority(ctx)
}

// hashAtLowPriority is hash on a thread of the lowest priority. That cannot be raised again (setpriority(2)), so the thread
// ends with its goroutine.
func (f *HostFile) hashAtLowPriority(ctx context.Context) (hash string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
		hash, err = f.hash(ctx)
	}()
	<-done
	return hash, err
}
