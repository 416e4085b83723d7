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

// A file that the guest has changed in part needs the rest of its content as the host had it. So that it
// does not for long, a small one is copied into the delta soon after it was first written to, and of a
// each the hash is taken, by which another version of the host's file with the same content is known
// (follow.go, hashes.go). Neither is done while the guest waits for a write.

// Keeping bounds what is kept of the base's files.
type Keeping struct {
	// Whole is the size up to which a file is copied into the delta, in bytes. 0: none is.
	Whole int64
	// Last is how long what is left may take at the end of a session.
	Last time.Duration
}

const (
	calm       = time.Second            // from a write until the rest of the file is looked at
	lastHashes = 100 * time.Millisecond // that the hashes of versions may take at the end of a session

	wholeFiles = 16 // so many files of the largest size are copied in one session, or more that are smaller
	wholeShare = 8  // a copy must be smaller than this part of the disk's free space
)

// keeper keeps what it can of the files that were changed in part.
type keeper struct {
	o      *Overlay
	lim    Keeping
	room   int64         // for copies in this session, in bytes
	hashes int64         // for hashes of versions in this session, in bytes
	ending bool          // nobody but the user waits
	raised chan struct{} // holds a token if there may be any file that was noted

	// Changed in steps only.
	partly   map[sqlvfs.Ino]struct{}
	versions map[string]version // to be hashed, by their paths in the base
}

// Keep begins to keep what it can of the base's files that are changed in part. end finishes, and is to be
// called when nothing else uses the overlay any more.
func (o *Overlay) Keep(lim Keeping) (end func()) {
	if o.host == nil || o.store.ReadOnly() {
		return func() {}
	}
	k := &keeper{o: o, lim: lim, room: wholeFiles * lim.Whole, hashes: hashedBytes,
		partly: map[sqlvfs.Ino]struct{}{}, versions: map[string]version{}, raised: make(chan struct{}, 1)}
	o.view(func(t *tx) error {
		t.keeper = k
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
		ctx, cancel := context.WithTimeout(context.Background(), lim.Last)
		defer cancel()
		k.all(ctx)
		hashes, cancel := context.WithTimeout(ctx, lastHashes)
		defer cancel()
		k.hashVersions(hashes)
	}
}

// note notes a file that was changed.
func (k *keeper) note(n *node) {
	if k == nil || n.in == nil || n.base == nil || n.in.Origin == nil || n.in.Origin.Hash != "" || n.in.Origin.Base != k.o.name {
		return
	}
	if !n.showsThrough() {
		k.noteVersion(n.in.Origin.Path, version{n.in.Ino, n.in.Baseline()})
		return
	}
	if _, ok := k.partly[n.in.Ino]; ok {
		return
	}
	k.partly[n.in.Ino] = struct{}{}
	k.raise()
}

// raise says that something was noted.
func (k *keeper) raise() {
	select {
	case k.raised <- struct{}{}:
	default:
	}
}

// earlier notes the files that earlier sessions had no time for.
func (k *keeper) earlier() {
	k.o.view(func(t *tx) error {
		list, err := t.db.Dependents(t.name)
		if err != nil {
			return err // whoever needs them will be told
		}
		for _, n := range list {
			if n.Holds && n.Origin.Hash == "" {
				k.partly[n.Ino] = struct{}{}
			}
		}
		return nil
	})
}

func (k *keeper) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(calm):
	}
	k.earlier()
	k.all(ctx)
	k.hashVersions(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.raised:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(calm):
		}
		k.all(ctx)
		k.hashVersions(ctx)
	}
}

// all looks at the files that were noted. What cannot be kept is given up: reading will tell.
func (k *keeper) all(ctx context.Context) {
	for {
		ino := sqlvfs.Ino(0)
		k.o.view(func(*tx) error {
			for ino = range k.partly {
				break
			}
			delete(k.partly, ino)
			return nil
		})
		if ino == 0 {
			return
		}
		err := k.one(ctx, ino)
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			k.o.view(func(*tx) error {
				k.partly[ino] = struct{}{}
				return nil
			})
			return
		}
	}
}

// one keeps what it can of one file.
func (k *keeper) one(ctx context.Context, ino sqlvfs.Ino) error {
	o := k.o
	in, was, err := o.acquire(ino)
	if err != nil {
		return err
	}
	defer o.release(in)
	if was == nil || was.Limit == 0 || was.Base != o.name {
		return nil
	}
	f, err := o.host.Open(was.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Fingerprint != was.Fingerprint {
		return sqlvfs.ErrBaseChanged
	}
	if k.copies(f.Size) {
		k.room -= f.Size
		if err := o.store.Fill(in, steady{f}, f.sparse(), func(int) error { return ctx.Err() }); err != nil {
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

// acquire refers to an inode, and returns its origin too.
func (o *Overlay) acquire(ino sqlvfs.Ino) (in *sqlvfs.Inode, origin *sqlvfs.Origin, err error) {
	err = o.view(func(t *tx) (err error) {
		if in, err = t.db.Get(ino); err == nil {
			origin = in.Origin
		}
		return err
	})
	return in, origin, err
}

// release ends the reference.
func (o *Overlay) release(in *sqlvfs.Inode) {
	o.view(func(t *tx) error {
		t.db.Put(in)
		return nil
	})
}

// copies tells whether a file is small enough to be copied.
func (k *keeper) copies(size int64) bool {
	if size > k.lim.Whole || size > k.room {
		return false
	}
	st, err := k.o.Statfs()
	return err == nil && uint64(size)*wholeShare <= st.BlocksAvailable*uint64(st.BlockSize)
}

// steady is a file of the base that must not change while it is read.
type steady struct{ *HostFile }

var _ io.ReaderAt = steady{}

// ReadAt implements io.ReaderAt.
func (f steady) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.HostFile.ReadAt(p, off)
	if _, now, serr := f.stat(); serr == nil && now != f.Fingerprint {
		return 0, sqlvfs.ErrBaseChanged
	}
	return n, err
}

// hash is that of a file, taken without being in anybody's way.
func (k *keeper) hash(ctx context.Context, f *HostFile) (string, error) {
	if k.ending || f.Size <= 1<<20 { // which takes no longer than a thread
		return f.hash(ctx)
	}
	return f.hashQuietly(ctx)
}

// hashQuietly is hash on a thread that gives way to everybody else, the guest above all. The priority
// cannot be raised again (setpriority(2)), so the thread ends with its goroutine.
func (f *HostFile) hashQuietly(ctx context.Context) (hash string, err error) {
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
