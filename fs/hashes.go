package fs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// Push and pull compare three versions of a file, of which the base's is gone once the host has another.
// Its hash tells then that the host has only touched the file, or has put the same content there again, as
// git does when it checks out another branch and comes back. So it is taken of what the guest has changed,
// replaced or removed, while the base has it still: in the background, and at the end of a session.

const (
	hashedFiles = 4096      // so many files wait to be hashed; more may be touched by the guest, as by rm -r
	hashedFile  = 32 << 20  // the largest
	hashedBytes = 256 << 20 // in one session
)

// version is a file of the base as the guest saw it.
type version struct {
	ino  sqlvfs.Ino // whose origin it is; 0: the baseline is all that tells of it
	seen *sqlvfs.Baseline
}

// enqueueHash notes that the guest has changed or hidden a file of the base.
func (k *backfiller) enqueueHash(path string, v version) {
	if k == nil || v.seen == nil || v.seen.Mode&unix.S_IFMT != unix.S_IFREG || v.seen.Hash != nil ||
		v.seen.Size > hashedFile || v.seen.Size > k.hashes || len(k.versions) >= hashedFiles {
		return
	}
	if was, ok := k.versions[path]; !ok || was.ino != v.ino {
		k.versions[path] = v
		k.signal()
	}
}

// hashVersions takes the hashes of the files that were noted, until the context ends.
func (k *backfiller) hashVersions(ctx context.Context) {
	for ctx.Err() == nil {
		path, v, ok := pop(k.o, k.versions)
		if !ok {
			return
		}
		k.hashVersion(ctx, path, v)
	}
}

// hashVersion takes the hash of a file, if the base has it still.
func (k *backfiller) hashVersion(ctx context.Context, path string, v version) {
	f, err := k.open(path, v.seen.Fingerprint)
	if err != nil {
		return
	}
	defer f.Close()
	k.o.view(func(*tx) error {
		k.hashes -= f.Size
		return nil
	})
	sum, err := k.hash(ctx, f)
	if err != nil {
		return
	}
	k.o.view(func(t *tx) error {
		if v.ino != 0 {
			if in, err := t.db.Get(v.ino); err == nil {
				t.setHash(in, f.Fingerprint, sum)
				t.db.Put(in)
				return nil
			}
		}
		b := *v.seen
		b.Hash = []byte(sum)
		t.db.AddBaseline(t.tree(), path, &b)
		return nil
	})
}

// setHash writes down the hash of an inode's origin, if that is the version.
func (t *tx) setHash(in *sqlvfs.Inode, version sqlvfs.Fingerprint, hash string) {
	if now := in.Origin; now != nil && now.Fingerprint == version {
		known := *now
		known.Hash = hash
		t.db.SetOrigin(in, &known)
	}
}
