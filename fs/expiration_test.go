package fs

import (
	"testing"
	"time"

	"github.com/jacobsa/fuse/fuseops"

	"github.com/riverlytech/art/fs/wire"
)

// kept is a file system whose names last and whose attributes do not.
type kept struct{ FileSystem }

var lasting = Entry{Ino: 2, TTL: Forever, AttrTTL: BaseTTL}

func (kept) Lookup(Ino, string) (Entry, error)           { return lasting, nil }
func (kept) Getattr(Ino) (Entry, error)                  { return lasting, nil }
func (kept) Setattr(Caller, Ino, SetAttr) (Entry, error) { return lasting, nil }

// Whichever way the kernel learns of attributes, it keeps them for as long as they last, not for
// as long as the name.
func TestAttributesExpireByTheirOwnTime(t *testing.T) {
	s := newServer(kept{}, nil, -1, nil, t.Logf)
	lookup, get, set := &fuseops.LookUpInodeOp{}, &fuseops.GetInodeAttributesOp{}, &fuseops.SetInodeAttributesOp{}
	for _, op := range []any{lookup, get, set} {
		if err := s.do(&wire.Request{Op: op}); err != nil {
			t.Fatalf("%T: %v", op, err)
		}
	}
	for name, until := range map[string]time.Time{
		"lookup": lookup.Entry.AttributesExpiration, "getattr": get.AttributesExpiration, "setattr": set.AttributesExpiration,
	} {
		if left := time.Until(until); left <= 0 || left > BaseTTL {
			t.Errorf("%s: the attributes are kept for %v, want at most %v", name, left, BaseTTL)
		}
	}
}
